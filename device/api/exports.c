/* The variants of functions for per-thread default streams: the same function, called while the thread's
 * NULL stream means its own default stream. */
#include "api/api.h"
#include "api/stream.h"

#define VARIANT_NONE(symbol, params, args)
#define VARIANT(symbol, suffix, params, args) \
    CUresult symbol##suffix params \
    { \
        bool before = stream_null_is_per_thread(true); \
        CUresult result = symbol args; \
        stream_null_is_per_thread(before); \
        return result; \
    }
#define VARIANT_PTSZ(symbol, params, args) VARIANT(symbol, _ptsz, params, args)
#define VARIANT_PTDS(symbol, params, args) VARIANT(symbol, _ptds, params, args)

#define CU_FN(name, symbol, version, per_thread, params, args) VARIANT_##per_thread(symbol, params, args)
#include "abi/cuda_functions.def"
#undef CU_FN

VARIANT_PTSZ(cuStreamGetDevice, (CUstream stream, CUdevice *device), (stream, device))
VARIANT_PTSZ(cuMemPrefetchAsync_v2,
             (CUdeviceptr ptr, size_t count, CUmemLocation location, unsigned int flags, CUstream stream),
             (ptr, count, location, flags, stream))
