/* What devices, the host and other hardware do with each other's memory: atomic operations, remote direct
 * memory access. */
#include <unistd.h>

#include "api/base/refused.h"
#include "api/context/context.h"

/* CUatomicOperationCapability. */
enum {
    SIGNED = 1,
    UNSIGNED = 2,
    REDUCTION = 4,
    WORDS_32 = 8,
    WORDS_64 = 16,
    WORDS_128 = 32,
    VECTORS_32X4 = 64
};

/* By CUatomicOperation: the types for which kernels have the operation. As all memory is the host's, they
 * have it on memory of the host and of any device. */
static const uint8_t capabilities_of[] = {
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* add */
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* min */
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* max */
    UNSIGNED | REDUCTION | WORDS_32,                      /* increment */
    UNSIGNED | REDUCTION | WORDS_32,                      /* decrement */
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* and */
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* or */
    SIGNED | UNSIGNED | REDUCTION | WORDS_32 | WORDS_64,  /* xor */
    SIGNED | UNSIGNED | WORDS_32 | WORDS_64 | WORDS_128,  /* exchange */
    SIGNED | UNSIGNED | WORDS_32 | WORDS_64 | WORDS_128,  /* compare and swap */
    SIGNED | REDUCTION | WORDS_32 | WORDS_64 | VECTORS_32X4, /* add of floats */
    0,                                                    /* min of floats */
    0,                                                    /* max of floats */
};

enum { OPERATIONS = sizeof capabilities_of };

static CUresult check_operations(const unsigned *out, const int *operations, unsigned count)
{
    if (!out || !operations || !count) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (operations[i] < 0 || operations[i] >= OPERATIONS) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *out, const int *operations, unsigned int count,
                                           CUdevice ordinal)
{
    TRY(driver_check());
    TRY(check_operations(out, operations, count));
    if (!driver_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    for (unsigned i = 0; i < count; i++) out[i] = capabilities_of[operations[i]];
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *out, const int *operations, unsigned int count,
                                          CUdevice from, CUdevice to)
{
    TRY(driver_check());
    TRY(check_operations(out, operations, count));
    if (from == to || !driver_device(to)) return CUDA_ERROR_INVALID_DEVICE;
    return cuDeviceGetHostAtomicCapabilities(out, operations, count, from);
}

/* No other hardware writes to the memory: there is nothing to wait for. */
CUresult cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    enum { CURRENT_CONTEXT = 0, TO_OWNER = 100, TO_ALL_DEVICES = 200 };
    Context *context;
    TRY(context_enter(&context));
    bool known = target == CURRENT_CONTEXT && (scope == TO_OWNER || scope == TO_ALL_DEVICES);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Not supported, as the attribute DMA_BUF_SUPPORTED says. */
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size, int type,
                                       unsigned long long flags)
{
    enum { DMA_BUF_FD = 1, MAPPED_BY_PCIE = 1 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    Context *context;
    MemoryRange range;
    TRY(context_enter(&context));
    if (!handle || type != DMA_BUF_FD || flags > MAPPED_BY_PCIE) return CUDA_ERROR_INVALID_VALUE;
    if (!size || size % page || address % page) return CUDA_ERROR_INVALID_VALUE;
    if (!memory_map_find_for_call(driver_memory(), address, size, &range)) return CUDA_ERROR_INVALID_VALUE;
    return refuse(REFUSED_cuMemGetHandleForAddressRange);
}
