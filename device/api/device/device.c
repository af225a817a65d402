/* The virtual devices: what they are called and what they can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context/context.h"
#include "api/device/device_limits.h"
#include "api/memory/physical.h"
#include "api/memory/pool.h"
#include "exec/bind.h"

#define DEVICE_PCI_BUS(device) (0xc0 + (device)->ordinal)

typedef struct HostCpu {
    char model[96];
    int khz;
} HostCpu;

static HostCpu host_cpu;
static pthread_once_t host_cpu_once = PTHREAD_ONCE_INIT;

/* The text after "key : " of a line of /proc/cpuinfo, or NULL. */
static const char *value_of(char *line, const char *key)
{
    if (strncmp(line, key, strlen(key))) return NULL;
    char *value = strchr(line, ':');
    if (!value) return NULL;
    line[strcspn(line, "\n")] = '\0';
    return value + 1 + strspn(value + 1, " \t");
}

static void read_host_cpu(void)
{
    enum { DEFAULT_KHZ = 2000000 };
    char line[256];
    const char *value;
    snprintf(host_cpu.model, sizeof host_cpu.model, "unnamed processor");
    host_cpu.khz = DEFAULT_KHZ;
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        if ((value = value_of(line, "model name")))
            snprintf(host_cpu.model, sizeof host_cpu.model, "%.90s", value);
        if ((value = value_of(line, "cpu MHz")) && atof(value) >= 1) host_cpu.khz = (int)(1000 * atof(value));
        if (line[0] == '\n') break;
    }
    fclose(file);
}

static const HostCpu *device_host_cpu(void)
{
    pthread_once(&host_cpu_once, read_host_cpu);
    return &host_cpu;
}

static int device_clock_khz(void) { return device_host_cpu()->khz; }

/* If there is no row for the compute capability it is the last row with a lower one. */
const DeviceLimits *device_limits(void)
{
    enum { WARP_THREADS = 32, KIB = 1024 };
    static const DeviceLimits rows[] = {
#define CAPABILITY(number, warps, blocks, shared, optin, unit, reserved) \
    {number, WARP_THREADS * (warps), blocks, KIB * (shared), KIB * (optin), unit, reserved},
#include "api/device/device_limits.def"
    };
    const DeviceLimits *found = rows;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].capability <= driver_settings()->capability) found = &rows[i];
    return found;
}

static CUresult device_enter(CUdevice ordinal, Device **device)
{
    TRY(driver_check());
    *device = driver_device(ordinal);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
    Device *device;
    if (!out) return driver_check() ? driver_check() : CUDA_ERROR_INVALID_VALUE;
    TRY(device_enter(ordinal, &device));
    *out = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    TRY(driver_check());
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = driver_settings()->devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)length, "CPU device (%s, %s)", device_host_cpu()->model, exec_isa_name());
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    const DriverSettings *settings = driver_settings();
    switch (attribute) {
#define DEVICE_ATTRIBUTE(name, answer) \
    case CU_DEVICE_ATTRIBUTE_##name: *value = answer; return CUDA_SUCCESS;
#include "api/device/device_attributes.def"
#undef DEVICE_ATTRIBUTE
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = driver_settings()->capability / 10;
    *minor = driver_settings()->capability % 10;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = device->memory_size;
    return CUDA_SUCCESS;
}

/* The version before CUDA 3.2, whose result is at most the largest unsigned int. */
CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice ordinal)
{
    size_t all;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    TRY(cuDeviceTotalMem_v2(&all, ordinal));
    *bytes = all < UINT32_MAX ? (unsigned)all : UINT32_MAX;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice ordinal)
{
    static const CUdevice_attribute attributes[] = {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
        CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_MAX_PITCH,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
        CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
    };
    int values[sizeof attributes / sizeof *attributes];
    _Static_assert(sizeof values == sizeof *out, "one attribute a member");
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++)
        TRY(cuDeviceGetAttribute(&values[k], attributes[k], ordinal));
    memcpy(out, values, sizeof values);
    return CUDA_SUCCESS;
}

/* The UUID depends only on the processor and the ordinal: all processes get the same. */
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t fnv_offset = UINT64_C(0xcbf29ce484222325),
                   fnv_prime = UINT64_C(0x100000001b3); /* FNV-1a */
    uint64_t hash = fnv_offset;
    for (const char *c = device_host_cpu()->model; *c; c++) hash = (hash ^ (unsigned char)*c) * fnv_prime;
    for (int i = 0; i < 16; i++) {
        hash = (hash ^ (unsigned)(ordinal + i)) * fnv_prime;
        uuid->bytes[i] = (char)(hash >> 40);
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal) { return cuDeviceGetUuid_v2(uuid, ordinal); }

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice ordinal)
{
    Device *device;
    TRY(device_enter(ordinal, &device));
    if (!text || length < (int)sizeof "0000:C0:00.0") return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)length, "0000:%02X:00.0", (unsigned)DEVICE_PCI_BUS(device));
    return CUDA_SUCCESS;
}

/* Reads domain:bus:device.function, domain:bus:device or bus:device.function, all hexadecimal. `slot` is the
 * device's number. False for other texts, and for a function that is not 0. */
static bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *slot)
{
    unsigned function = 0;
    int end = 0;
    if (sscanf(text, "%x:%x:%x.%x%n", domain, bus, slot, &function, &end) == 4 && !text[end])
        return !function;
    if (sscanf(text, "%x:%x:%x%n", domain, bus, slot, &end) == 3 && !text[end]) return true;
    *domain = 0;
    return sscanf(text, "%x:%x.%x%n", bus, slot, &function, &end) == 3 && !text[end] && !function;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *text)
{
    unsigned domain, bus, slot;
    TRY(driver_check());
    if (!out || !text || !parse_pci(text, &domain, &bus, &slot)) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < driver_settings()->devices; i++)
        if (!domain && !slot && bus == (unsigned)DEVICE_PCI_BUS(driver_device(i))) {
            *out = i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer_ordinal)
{
    Device *device, *peer;
    TRY(device_enter(ordinal, &device));
    TRY(device_enter(peer_ordinal, &peer));
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
                                 CUdevice peer_ordinal)
{
    enum { RANK = 1, ACCESS = 2, ATOMICS = 3, ARRAYS = 4 }; /* CUdevice_P2PAttribute */
    Device *device, *peer;
    TRY(device_enter(ordinal, &device));
    TRY(device_enter(peer_ordinal, &peer));
    if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || attribute < RANK || attribute > ARRAYS) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute != RANK; /* all pairs have the same rank, 0, and support the rest */
    return CUDA_SUCCESS;
}

/* The width is that of the attribute MAXIMUM_TEXTURE1D_LINEAR_WIDTH, for every format. */
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
                                            CUdevice ordinal)
{
    Device *device;
    (void)format;
    TRY(device_enter(ordinal, &device));
    if (!width || (channels != 1 && channels != 2 && channels != 4)) return CUDA_ERROR_INVALID_VALUE;
    *width = (size_t)1 << 28;
    return CUDA_SUCCESS;
}
