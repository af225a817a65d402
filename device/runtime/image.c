/* The fat binaries of a program as libraries of the driver. */
#include "runtime/runtime.h"

static size_t fat_size(const void *data)
{
    const FatHeader *header = data;
    return header->header_size + header->size;
}

/* Whether the fat binary has PTX for the device. The one of CUDA's device runtime, which nvcc adds to the
 * parts, has none for most: the CPU device has that library itself. */
static bool has_ptx(const void *data, unsigned capability)
{
    const FatHeader *header = data;
    const char *at = (const char *)data + header->header_size, *end = (const char *)data + fat_size(data);
    while (at < end) {
        const FatEntry *entry = (const FatEntry *)at;
        if (entry->kind == FAT_PTX && entry->architecture <= capability) return true;
        at += entry->header_size + entry->size;
    }
    return false;
}

static unsigned first_capability(void)
{
    int major = 0, minor = 0;
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    return (unsigned)(10 * major + minor);
}

/* Adds those parts that have PTX. */
static CUresult add_parts(CUlinkState link, const void *const *parts)
{
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    unsigned capability = first_capability();
    for (; *parts; parts++) {
        if (!has_ptx(*parts, capability)) continue;
        result = cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY, (void *)*parts, fat_size(*parts), NULL, 0,
                                  NULL, NULL);
        if (result) return result;
    }
    return result;
}

/* Of a program that was compiled in parts (nvcc -rdc=true): what nvcc has linked is machine code, and it
 * keeps the parts as they were. */
static CUresult load_parts(CUlibrary *out, const void *const *parts)
{
    CUlinkState link;
    void *image;
    size_t size;
    CUresult result = cuLinkCreate_v2(0, NULL, NULL, &link);
    if (result) return result;
    result = add_parts(link, parts);
    if (!result) result = cuLinkComplete(link, &image, &size);
    if (!result) result = cuLibraryLoadData(out, image, NULL, NULL, 0, NULL, NULL, 0);
    cuLinkDestroy(link);
    return result;
}

CUresult runtime_load_image(CUlibrary *out, const FatWrapper *wrapper)
{
    enum { WITH_PARTS = 2 };
    if (wrapper->magic == FAT_WRAPPER_MAGIC && wrapper->version == WITH_PARTS && wrapper->file_name)
        return load_parts(out, wrapper->file_name);
    return cuLibraryLoadData(out, wrapper, NULL, NULL, 0, NULL, NULL, 0);
}
