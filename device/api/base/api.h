/* What this library exports: a prototype for every row of abi/cuda_functions.def, for its variant with a
 * per-thread default stream, and for the other exports that are implemented here.
 *
 * Everything else has hidden visibility. The exports are protected: calls among them stay in this library,
 * also when another driver is loaded in the process.
 */
#ifndef DEVICE_API_BASE_API_H
#define DEVICE_API_BASE_API_H

#include "abi/cpu_device.h"

#ifndef CU_API
#define CU_API __attribute__((visibility("protected")))
#endif

#define VARIANT_NONE(symbol, params)
#define VARIANT_PTSZ(symbol, params) CU_API CUresult symbol##_ptsz params;
#define VARIANT_PTDS(symbol, params) CU_API CUresult symbol##_ptds params;
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    CU_API CUresult symbol params; \
    VARIANT_##per_thread(symbol, params)
#include "abi/cuda_functions.def"
#undef CU_FN
#undef VARIANT_NONE
#undef VARIANT_PTSZ
#undef VARIANT_PTDS

/* Rows of abi/cuda_exports.def that are more than a stub. */
typedef struct CUexecAffinityParam_st {
    int type;
    unsigned int count;
} CUexecAffinityParam;
typedef struct CUctxCigParam_st {
    int type;
    void *data;
} CUctxCigParam;
typedef struct CUctxCreateParams_st {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    CUctxCigParam *cigParams;
} CUctxCreateParams;
#undef cuGetProcAddress
CU_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int driverVersion, cuuint64_t flags);
CU_API CUresult cuGetExportTable(const void **table, const CUuuid *id);
CU_API CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int count, unsigned int flags,
                               CUdevice dev);
CU_API CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev);
CU_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam *out, int type);
CU_API CUresult cuDeviceGetExecAffinitySupport(int *out, int type, CUdevice device);
CU_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags);
CU_API CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice device);
typedef struct CUdevprop_st {
    int threads_per_block, block_size[3], grid_size[3], shared_per_block, constant_memory, warp_size;
    int pitch, registers_per_block, clock_rate, texture_alignment;
} CUdevprop;
CU_API CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice device);
CU_API CUresult cuArrayGetPlane(CUarray *out, CUarray array, unsigned int plane);
CU_API CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray array,
                                             CUdevice device);
CU_API CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray array);
CU_API CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags);
CU_API CUresult cuCtxDetach(CUcontext ctx);
CU_API CUresult cuCtxWaitEvent(CUcontext ctx, CUevent event);
CU_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx);
CU_API CUresult cuCtxSynchronize_v2(CUcontext ctx);
CU_API CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CU_API CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes);
CU_API CUresult cuParamSetSize(CUfunction function, unsigned int size);
CU_API CUresult cuParamSeti(CUfunction function, int offset, unsigned int value);
CU_API CUresult cuParamSetf(CUfunction function, int offset, float value);
CU_API CUresult cuParamSetv(CUfunction function, int offset, void *bytes, unsigned int size);
CU_API CUresult cuParamSetTexRef(CUfunction function, int unit, CUtexref texture);
CU_API CUresult cuTexRefCreate(CUtexref *out);
CU_API CUresult cuTexRefDestroy(CUtexref texture);
CU_API CUresult cuTexRefGetBorderColor(float *out, CUtexref texture);
CU_API CUresult cuTexRefGetMaxAnisotropy(int *out, CUtexref texture);
CU_API CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *out, CUtexref texture);
CU_API CUresult cuTexRefGetMipmapLevelBias(float *out, CUtexref texture);
CU_API CUresult cuTexRefGetMipmapLevelClamp(float *min, float *max, CUtexref texture);
CU_API CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *out, CUtexref texture);
CU_API CUresult cuTexRefSetAddress2D_v2(CUtexref texture, const CUDA_ARRAY_DESCRIPTOR *shape,
                                        CUdeviceptr address, size_t pitch);
CU_API CUresult cuTexRefSetBorderColor(CUtexref texture, float *color);
CU_API CUresult cuTexRefSetMaxAnisotropy(CUtexref texture, unsigned int max);
CU_API CUresult cuTexRefSetMipmapFilterMode(CUtexref texture, CUfilter_mode mode);
CU_API CUresult cuTexRefSetMipmapLevelBias(CUtexref texture, float bias);
CU_API CUresult cuTexRefSetMipmapLevelClamp(CUtexref texture, float min, float max);
CU_API CUresult cuTexRefSetMipmappedArray(CUtexref texture, CUmipmappedArray mipmap, unsigned int flags);
CU_API CUresult cuLaunch(CUfunction function);
typedef struct CUDA_LAUNCH_PARAMS_st {
    CUfunction function;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    void **kernelParams;
} CUDA_LAUNCH_PARAMS;
CU_API CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count,
                                                     unsigned int flags);
CU_API CUresult cuLaunchGrid(CUfunction function, int width, int height);
CU_API CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
typedef struct CUasyncNotificationInfo_st CUasyncNotificationInfo;
typedef struct CUasyncCallbackEntry_st *CUasyncCallbackHandle;
typedef void (*CUasyncCallback)(CUasyncNotificationInfo *info, void *data, CUasyncCallbackHandle handle);
CU_API CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback function, void *data,
                                                  CUasyncCallbackHandle *out);
CU_API CUresult cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle handle);
CU_API CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *out, const int *operations,
                                                  unsigned int count, CUdevice device);
CU_API CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *out, const int *operations, unsigned int count,
                                                 CUdevice from, CUdevice to);
CU_API CUresult cuFlushGPUDirectRDMAWrites(int target, int scope);
CU_API CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size, int type,
                                              unsigned long long flags);
#define COREDUMP_SETTING(name) CU_API CUresult name(unsigned int id, void *value, size_t *size);
COREDUMP_SETTING(cuCoredumpGetAttribute)
COREDUMP_SETTING(cuCoredumpGetAttributeGlobal)
COREDUMP_SETTING(cuCoredumpSetAttribute)
COREDUMP_SETTING(cuCoredumpSetAttributeGlobal)
/* Stands for the structure of arguments of every checkpoint call. Words that a call does not use must be
 * zero. */
typedef struct CheckpointArgs {
    cuuint64_t words[8];
} CheckpointArgs;
CU_API CUresult cuCheckpointProcessGetState(int process, int *state);
CU_API CUresult cuCheckpointProcessGetRestoreThreadId(int process, int *thread);
#define CHECKPOINT_CALL(name) CU_API CUresult name(int process, const CheckpointArgs *args);
CHECKPOINT_CALL(cuCheckpointProcessLock)
CHECKPOINT_CALL(cuCheckpointProcessCheckpoint)
CHECKPOINT_CALL(cuCheckpointProcessRestore)
CHECKPOINT_CALL(cuCheckpointProcessUnlock)
CU_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
CU_API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end);
CU_API CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags);
CU_API CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CU_API CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice *device);
CU_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
CU_API CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
CU_API CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);
CU_API CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t count, CUmem_advise advice, CUmemLocation location);
CU_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t count, CUmemLocation location,
                                      unsigned int flags, CUstream stream);
CU_API CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr ptr, size_t count, CUmemLocation location,
                                           unsigned int flags, CUstream stream);

#define LEGACY(name, second, parameters, arguments) CU_API CUresult name parameters;
#include "api/base/legacy.def"

typedef struct CUmemcpyAttributes_st {
    int order; /* CUmemcpySrcAccessOrder */
    CUmemLocation from, to;
    unsigned int flags;
} CUmemcpyAttributes;
/* attributes[a] is for the copies from number starts[a] on, up to the next attribute's. */
#define BATCH_COPIES(suffix) \
    CU_API CUresult cuMemcpyBatchAsync##suffix(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, \
                                               size_t count, CUmemcpyAttributes *attributes, size_t *starts, \
                                               size_t attribute_count, size_t *failed, CUstream stream); \
    CU_API CUresult cuMemcpyBatchAsync_v2##suffix(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, \
                                                  size_t count, CUmemcpyAttributes *attributes, \
                                                  size_t *starts, size_t attribute_count, CUstream stream);
BATCH_COPIES()
BATCH_COPIES(_ptsz)

/* One side of a copy in a batch of shapes: lengths are bytes where both are pointers, else elements. */
enum { CU_MEMCPY_OPERAND_TYPE_POINTER = 1, CU_MEMCPY_OPERAND_TYPE_ARRAY = 2 };
typedef struct CUmemcpy3DOperand_st {
    int type;
    union {
        struct {
            CUdeviceptr address;
            size_t row_length, layer_height;
            CUmemLocation hint;
        } pointer;
        struct {
            CUarray array;
            size_t x, y, z;
        } array;
    };
} CUmemcpy3DOperand;
typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
    CUmemcpy3DOperand from, to;
    size_t width, height, depth;
    int order; /* CUmemcpySrcAccessOrder */
    unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;
#define BATCH_SHAPES(suffix) \
    CU_API CUresult cuMemcpy3DBatchAsync##suffix(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, \
                                                 size_t *failed, unsigned long long flags, CUstream stream); \
    CU_API CUresult cuMemcpy3DBatchAsync_v2##suffix(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, \
                                                    unsigned long long flags, CUstream stream);
BATCH_SHAPES()
BATCH_SHAPES(_ptsz)
#define STREAM_ATTRIBUTES(suffix) \
    CU_API CUresult cuStreamGetAttribute##suffix(CUstream stream, unsigned int id, \
                                                 CUlaunchAttributeValue *value); \
    CU_API CUresult cuStreamSetAttribute##suffix(CUstream stream, unsigned int id, \
                                                 const CUlaunchAttributeValue *value); \
    CU_API CUresult cuStreamCopyAttributes##suffix(CUstream to, CUstream from);
STREAM_ATTRIBUTES()
STREAM_ATTRIBUTES(_ptsz)
CU_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green);
CU_API CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext *context, CUgreenCtx *green);

/* Waits for words of memory and writes to them, in the order of streams. Each call has a first version, a
 * second one (_v2), and of both a variant with a per-thread default stream (_ptsz). */
typedef struct CUstreamBatchMemOpParams_union {
    int operation;
    CUdeviceptr address;
    cuuint64_t value;
    unsigned int flags;
    cuuint64_t alias, unused;
} CUstreamBatchMemOpParams;
typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS_st {
    CUcontext ctx;
    unsigned int count;
    CUstreamBatchMemOpParams *paramArray;
    unsigned int flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;
CU_API CUresult cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                         size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CU_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out);
CU_API CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CU_API CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
#define STREAM_VALUE(name, type) \
    CU_API CUresult name(CUstream stream, CUdeviceptr address, type value, unsigned int flags);
#define STREAM_VALUES(suffix) \
    STREAM_VALUE(cuStreamWaitValue32##suffix, cuuint32_t) \
    STREAM_VALUE(cuStreamWaitValue64##suffix, cuuint64_t) \
    STREAM_VALUE(cuStreamWriteValue32##suffix, cuuint32_t) \
    STREAM_VALUE(cuStreamWriteValue64##suffix, cuuint64_t) \
    CU_API CUresult cuStreamBatchMemOp##suffix(CUstream stream, unsigned int count, \
                                               CUstreamBatchMemOpParams *operations, unsigned int flags);
STREAM_VALUES()
STREAM_VALUES(_v2)
STREAM_VALUES(_ptsz)
STREAM_VALUES(_v2_ptsz)

/* The exports for the first versions of graph calls are in graph/legacy.h. */

/* Not of the driver API: see abi/cpu_device.h. */
CU_API const CpuDeviceTable *cpuDeviceTable(void);
CU_API const CpuLinker *cpuDeviceLinker(void);
CU_API void cpuDeviceLog(const char *text); /* an error of the library of runtime/ */
CU_API void cpuDeviceRecover(void);
CU_API uint64_t cpuDeviceMemoryUsed(void);

#endif
