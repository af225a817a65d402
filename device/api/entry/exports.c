/* The variants of functions for per-thread default streams: the same function, called while the thread's
 * NULL stream means its own default stream. */
#include "api/base/external.h"
#include "api/stream/stream.h"

#define VARIANT_NONE(symbol, params, args)
#define VARIANT(symbol, suffix, params, args) \
    CUresult symbol##suffix params \
    { \
        bool before = stream_set_null_is_per_thread(true); \
        CUresult result = symbol args; \
        stream_set_null_is_per_thread(before); \
        return result; \
    }
#define VARIANT_PTSZ(symbol, params, args) VARIANT(symbol, _ptsz, params, args)
#define VARIANT_PTDS(symbol, params, args) VARIANT(symbol, _ptds, params, args)

#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    VARIANT_##per_thread(symbol, params, args)
#include "abi/cuda_functions.def"
#undef CU_FN

/* Calls that are not in abi/cuda_functions.def. */
#define VALUE_VARIANTS(version) \
    VALUE_VARIANT(cuStreamWaitValue32##version, cuuint32_t) \
    VALUE_VARIANT(cuStreamWaitValue64##version, cuuint64_t) \
    VALUE_VARIANT(cuStreamWriteValue32##version, cuuint32_t) \
    VALUE_VARIANT(cuStreamWriteValue64##version, cuuint64_t) \
    VARIANT_PTSZ( \
        cuStreamBatchMemOp##version, \
        (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags), \
        (stream, count, operations, flags))
#define VALUE_VARIANT(name, type) \
    VARIANT_PTSZ(name, (CUstream stream, CUdeviceptr address, type value, unsigned int flags), \
                 (stream, address, value, flags))
VALUE_VARIANTS()
VALUE_VARIANTS(_v2)
VARIANT_PTSZ(cuMemcpyBatchAsync,
             (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count,
              CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count, size_t *failed,
              CUstream stream),
             (to, from, sizes, count, attributes, starts, attribute_count, failed, stream))
VARIANT_PTSZ(cuMemcpyBatchAsync_v2,
             (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count,
              CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count, CUstream stream),
             (to, from, sizes, count, attributes, starts, attribute_count, stream))
VARIANT_PTSZ(cuMemcpy3DBatchAsync,
             (size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *failed, unsigned long long flags,
              CUstream stream),
             (count, copies, failed, flags, stream))
VARIANT_PTSZ(cuMemcpy3DBatchAsync_v2,
             (size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags, CUstream stream),
             (count, copies, flags, stream))
VARIANT_PTSZ(cuStreamGetAttribute, (CUstream stream, unsigned int id, CUlaunchAttributeValue *value),
             (stream, id, value))
VARIANT_PTSZ(cuStreamSetAttribute, (CUstream stream, unsigned int id, const CUlaunchAttributeValue *value),
             (stream, id, value))
#define SEMAPHORES_VARIANT(name) \
    VARIANT_PTSZ(name, \
                 (const CUexternalSemaphore *semaphores, const SemaphoreParams *params, unsigned int count, \
                  CUstream stream), \
                 (semaphores, params, count, stream))
SEMAPHORES_VARIANT(cuSignalExternalSemaphoresAsync)
SEMAPHORES_VARIANT(cuWaitExternalSemaphoresAsync)
VARIANT_PTSZ(cuStreamCopyAttributes, (CUstream to, CUstream from), (to, from))
VARIANT_PTSZ(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
             (stream, context, green))
VARIANT_PTSZ(cuStreamGetDevice, (CUstream stream, CUdevice *device), (stream, device))
VARIANT_PTSZ(cuMemPrefetchAsync_v2,
             (CUdeviceptr ptr, size_t count, CUmemLocation location, unsigned int flags, CUstream stream),
             (ptr, count, location, flags, stream))
