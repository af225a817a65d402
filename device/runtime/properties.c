/* cudaGetDeviceProperties, from the rows of properties.def, and the choice of a device by them. */
#include "runtime/runtime.h"

#include <string.h>

/* 0 where the driver does not know the attribute. */
static int attribute(CUdevice_attribute name, int device)
{
    int value = 0;
    cuDeviceGetAttribute(&value, name, device);
    return value;
}

static void attributes(struct cudaDeviceProp *out, int device)
{
#define INT(field, name) out->field = attribute(name, device);
#define SIZE(field, name) out->field = (size_t)attribute(name, device);
#define INTS(field, count, ...) \
    { \
        static const CUdevice_attribute rows[count] = {__VA_ARGS__}; \
        for (int i = 0; i < (count); i++) out->field[i] = attribute(rows[i], device); \
    }
#define SPECIAL(type, field, bound)
#include "runtime/properties.def"
#undef INT
#undef SIZE
#undef INTS
#undef SPECIAL
}

static cudaError_t properties(struct cudaDeviceProp *out, int device)
{
    CUuuid uuid;
    memset(out, 0, sizeof *out);
    TRY(cuDeviceGetName(out->name, sizeof out->name, device));
    TRY(cuDeviceTotalMem_v2(&out->totalGlobalMem, device));
    TRY(cuDeviceGetUuid_v2(&uuid, device));
    out->uuid = uuid;
    attributes(out, device);
    return cudaSuccess;
}

#if CUDART_MAJOR >= 13
cudaError_t run_cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    return out ? properties(out, device) : cudaErrorInvalidValue;
}
#else
cudaError_t run_cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device)
{
    return out ? properties(out, device) : cudaErrorInvalidValue;
}

/* Of programs made for CUDA 11, whose structure ends before hostRegisterSupported. */
cudaError_t run_cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    struct cudaDeviceProp all;
    if (!out) return cudaErrorInvalidValue;
    TRY(properties(&all, device));
    memcpy(out, &all, offsetof(struct cudaDeviceProp, hostRegisterSupported));
    return cudaSuccess;
}
#endif

/* How many of the wishes that are not zero the device fulfils. */
static int score(const struct cudaDeviceProp *wish, const struct cudaDeviceProp *has)
{
    int capability = 10 * wish->major + wish->minor;
    return (capability && 10 * has->major + has->minor >= capability)
           + (wish->totalGlobalMem && has->totalGlobalMem >= wish->totalGlobalMem)
           + (wish->multiProcessorCount && has->multiProcessorCount >= wish->multiProcessorCount)
           + (wish->sharedMemPerBlock && has->sharedMemPerBlock >= wish->sharedMemPerBlock);
}

cudaError_t run_cudaChooseDevice(int *out, const struct cudaDeviceProp *wish)
{
    struct cudaDeviceProp has;
    int count, best = -1;
    if (!out || !wish) return cudaErrorInvalidValue;
    TRY(run_cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        TRY(properties(&has, device));
        if (score(wish, &has) <= best) continue;
        best = score(wish, &has);
        *out = device;
    }
    return cudaSuccess;
}
