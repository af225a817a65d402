/* Physical memory and its handles. See physical.h. */
#define _GNU_SOURCE
#include "api/memory/physical.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/log.h"
#include "api/memory/memory.h"
#include "api/memory/pool.h"

/* In a file of its own the pages are followed by TRAILER_ROOM bytes that begin with this. */
typedef struct Trailer {
    char magic[16];
    int32_t device, handle_types;
    uint64_t size;
} Trailer;

enum { TRAILER_ROOM = 65536 };
enum { WINDOWS_HANDLES = 2 | 4 }; /* CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT */

static const char magic[16] = "cpu-cuda-memory";
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER; /* for Physical.handles */
static _Atomic uint64_t last_id;

bool physical_is_there(void)
{
    MemoryExport place;
    return memory_map_file(driver_memory(), &place);
}

int physical_handle_types(void)
{
    return physical_is_there() ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
}

/* ---- What may be requested ---- */

/* An error if memory with these properties cannot be made. *device: the one that they name. */
static CUresult check_allocation_properties(const CUmemAllocationProp *properties, Device **device)
{
    if (!properties) return CUDA_ERROR_INVALID_VALUE;
    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        log_error("physical memory of the host is not supported by the CPU device, only that of a device");
        return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    *device = driver_device(properties->location.id);
    if (!*device) return CUDA_ERROR_INVALID_DEVICE;
    if (properties->requestedHandleTypes & WINDOWS_HANDLES) return CUDA_ERROR_INVALID_VALUE;
    if (!(properties->requestedHandleTypes & ~(unsigned)physical_handle_types()) && physical_is_there())
        return CUDA_SUCCESS;
    log_error(physical_is_there()
                  ? "the CPU device supports file descriptors only, no other shareable handles"
                  : SHARED_FILE_PROBLEM ", or the program has closed its file");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    Device *device;
    TRY(driver_check());
    if (!granularity
        || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    TRY(check_allocation_properties(properties, &device));
    *granularity = PHYSICAL_GRANULARITY;
    return CUDA_SUCCESS;
}

/* ---- Making and releasing ---- */

static void release_physical(Object *object)
{
    Physical *physical = (Physical *)object;
    if (physical->hidden)
        memory_release(physical->hidden);
    else
        shared_file_close(&physical->file);
    if (!physical->hidden && !physical->imported)
        memory_uncharge(physical->device, MEMORY_PHYSICAL, physical->size);
}

/* A new object with the caller's reference, which owns no pages yet. */
static Physical *new_physical(Device *device, uint64_t size, CUmemAllocationHandleType handle_types)
{
    Physical *physical = object_new(OBJECT_PHYSICAL, sizeof *physical, NULL, NULL);
    if (!physical) return NULL;
    physical->device = device;
    physical->size = size;
    physical->handle_types = handle_types;
    physical->id = atomic_fetch_add(&last_id, 1) + 1;
    return physical;
}

/* Gives the object pages at an address of the memory map that the program does not know. */
static CUresult map_hidden(Physical *physical)
{
    MemoryRequest request = {
        .size = physical->size,
        .align = PHYSICAL_GRANULARITY,
        .kind = MEMORY_PHYSICAL,
        .shared = true,
        .device = physical->device->ordinal,
    };
    return memory_try(physical->device, &request, physical->size, &physical->hidden);
}

/* Gives the object pages in a file of its own, with the trailer. */
static CUresult take_file(Physical *physical)
{
    Trailer trailer = {.device = physical->device->ordinal,
                       .handle_types = (int32_t)physical->handle_types,
                       .size = physical->size};
    memcpy(trailer.magic, magic, sizeof magic);
    if (!memory_charge(physical->device, MEMORY_PHYSICAL, physical->size)) return CUDA_ERROR_OUT_OF_MEMORY;
    bool made = shared_file_create(&physical->file, "cuda-physical-memory", physical->size + TRAILER_ROOM);
    if (made
        && pwrite(physical->file.descriptor, &trailer, sizeof trailer, (off_t)physical->size)
               == (ssize_t)sizeof trailer)
        return CUDA_SUCCESS;
    if (made) shared_file_close(&physical->file);
    memory_uncharge(physical->device, MEMORY_PHYSICAL, physical->size);
    log_error("the system provides no more memory files: each exportable allocation is one");
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Gives the object its pages; if memory is short, after unused memory of pools was released. */
static CUresult take_pages(Physical *physical)
{
    CUresult (*take)(Physical *) = physical->handle_types ? take_file : map_hidden;
    CUresult result = take(physical);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        pools_reclaim(physical->device);
        result = take(physical);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_log_shortage(physical->device, physical->size);
    if (!result) physical->object.release = release_physical;
    return result;
}

bool physical_retain(Physical *physical)
{
    pthread_mutex_lock(&handles_lock);
    bool ok = physical->handles > 0 || object_publish(OBJECT(physical)) == CUDA_SUCCESS;
    if (ok) physical->handles++;
    pthread_mutex_unlock(&handles_lock);
    return ok;
}

/* Makes the first handle. Releases the caller's reference. */
static CUresult hand_out(Physical *physical, CUmemGenericAllocationHandle *out)
{
    bool ok = physical_retain(physical);
    if (ok) *out = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    PUT(physical);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
    Device *device;
    TRY(driver_check());
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_allocation_properties(properties, &device));
    if (!size || size % PHYSICAL_GRANULARITY) {
        log_error("the size of physical memory must be a multiple of %llu bytes, not %zu",
                  (unsigned long long)PHYSICAL_GRANULARITY, size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    Physical *physical = new_physical(device, size, properties->requestedHandleTypes);
    if (!physical) return CUDA_ERROR_OUT_OF_MEMORY;
    physical->usage = properties->allocFlags.usage;
    CUresult result = take_pages(physical);
    if (!result) return hand_out(physical, out);
    PUT(physical);
    return result;
}

CUresult physical_enter(CUmemGenericAllocationHandle handle, Physical **out)
{
    TRY(driver_check());
    *out = object_get((const void *)(uintptr_t)handle, OBJECT_PHYSICAL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    Physical *physical;
    TRY(physical_enter(handle, &physical));
    pthread_mutex_lock(&handles_lock);
    bool had = physical->handles > 0;
    if (had && --physical->handles == 0) object_retire(OBJECT(physical));
    pthread_mutex_unlock(&handles_lock);
    PUT(physical);
    return had ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    Physical *physical;
    TRY(physical_enter(handle, &physical));
    if (out)
        *out = (CUmemAllocationProp){
            .type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = physical->handle_types,
            .location = {CU_MEM_LOCATION_TYPE_DEVICE, physical->device->ordinal},
            .allocFlags.usage = physical->usage,
        };
    PUT(physical);
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Pages ---- */

bool physical_map(const Physical *physical, uint64_t address)
{
    MemoryRange range;
    MemoryExport place = {.descriptor = physical->file.descriptor};
    bool there = physical->hidden ? memory_map_find(driver_memory(), physical->hidden, &range)
                                        && memory_map_export(driver_memory(), &range, &place)
                                  : shared_file_is_open(&physical->file);
    if (!there) {
        log_error("the program has closed the file descriptor of the memory");
        return false;
    }
    return mmap((void *)(uintptr_t)address, physical->size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, place.descriptor, (off_t)place.offset)
           != MAP_FAILED;
}

void physical_pass(const Physical *physical, uint64_t offset, void *buffer, uint64_t bytes, bool from_buffer)
{
    void *place = (void *)(uintptr_t)(physical->hidden + offset);
    if (physical->hidden)
        memcpy(from_buffer ? place : buffer, from_buffer ? buffer : place, bytes);
    else if ((from_buffer ? pwrite(physical->file.descriptor, buffer, bytes, (off_t)offset)
                          : pread(physical->file.descriptor, buffer, bytes, (off_t)offset))
             != (ssize_t)bytes)
        log_warning("the program has closed the file descriptor of the memory");
}

/* ---- Other processes ---- */

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    Physical *physical;
    TRY(physical_enter(handle, &physical));
    bool allowed =
        out && !flags && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && physical->handle_types & type;
    int descriptor = -1;
    if (allowed && shared_file_is_open(&physical->file))
        descriptor = fcntl(physical->file.descriptor, F_DUPFD_CLOEXEC, 0);
    if (!allowed)
        log_error("only memory made for it (CUmemAllocationProp.requestedHandleTypes) has a file descriptor");
    else if (descriptor < 0)
        log_error("the program has no file descriptors left, or has closed that of the memory");
    else
        *(int *)out = descriptor;
    PUT(physical);
    if (!allowed) return CUDA_ERROR_INVALID_VALUE;
    return descriptor < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* Reads the trailer of a file of this or another process. False if the file has none. */
static bool read_trailer(const SharedFile *file, Trailer *trailer)
{
    if (file->size <= TRAILER_ROOM) return false;
    uint64_t size = file->size - TRAILER_ROOM;
    return pread(file->descriptor, trailer, sizeof *trailer, (off_t)size) == (ssize_t)sizeof *trailer
           && !memcmp(trailer->magic, magic, sizeof magic) && trailer->size == size
           && size % PHYSICAL_GRANULARITY == 0;
}

CUresult physical_import(int descriptor, Physical **out)
{
    SharedFile file;
    Trailer trailer;
    bool open = shared_file_take(&file, descriptor), known = open && read_trailer(&file, &trailer);
    Device *device = known ? driver_device(trailer.device) : NULL;
    *out =
        device ? new_physical(device, trailer.size, (CUmemAllocationHandleType)trailer.handle_types) : NULL;
    if (*out) {
        (*out)->imported = true;
        (*out)->file = file;
        (*out)->object.release = release_physical;
        return CUDA_SUCCESS;
    }
    if (open) shared_file_close(&file);
    if (!known)
        log_error("%d is not a descriptor of memory of the CPU device", descriptor);
    else if (!device)
        log_error("the memory is of device %d, which this process does not have (PYCUDA_CPU_DEVICES)",
                  trailer.device);
    return !known ? CUDA_ERROR_INVALID_VALUE : device ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                        CUmemAllocationHandleType type)
{
    Physical *physical;
    TRY(driver_check());
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    TRY(physical_import((int)(intptr_t)handle, &physical));
    return hand_out(physical, out);
}
