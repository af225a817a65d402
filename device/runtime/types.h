/* The types of CUDA's runtime API that cross its ABI, under their names there, for the version
 * CUDART_MAJOR.
 *
 * Objects are the driver's, so that a program can use both interfaces; structures are the driver's where they
 * have the same layout. tests/layout/check_runtime.c compares all of them with NVIDIA's headers, which it
 * includes in place of these definitions (RUNTIME_USE_CUDA_H).
 */
#ifndef DEVICE_RUNTIME_TYPES_H
#define DEVICE_RUNTIME_TYPES_H

#ifdef RUNTIME_USE_CUDA_H
#include <cuda_gl_interop.h>
#include <cuda_runtime_api.h>
#else

#include <stddef.h>
#include <stdint.h>

#include "abi/cuda_abi.h"
#include "api/base/api.h"
#include "api/base/external.h"

typedef enum cudaError {
#define RUNTIME_ERROR(name, code) name = code,
#include "exec/runtime/errors.def"
#undef RUNTIME_ERROR
} cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};

/* Only pointers to it are passed on. */
enum cudaAtomicOperation { CUDA_ATOMIC_OPERATION_UNUSED };

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;

/* Objects: the driver's. */
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUarray cudaArray_t;
typedef const struct CUarray_st *cudaArray_const_t;
typedef CUmipmappedArray cudaMipmappedArray_t;
typedef const struct CUmipmappedArray_st *cudaMipmappedArray_const_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUgraphConditionalHandle cudaGraphConditionalHandle;
typedef CUuserObject cudaUserObject_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUtexObject cudaTextureObject_t;
typedef CUsurfObject cudaSurfaceObject_t;
typedef CUgraphicsResource cudaGraphicsResource_t;
typedef CUexternalMemory cudaExternalMemory_t;
typedef CUexternalSemaphore cudaExternalSemaphore_t;
typedef CUasyncCallbackHandle cudaAsyncCallbackHandle_t;
typedef CUasyncCallback cudaAsyncCallback;
typedef CUlogIterator cudaLogIterator;
typedef CUlogsCallback cudaLogsCallback_t;
typedef CUlogsCallbackHandle cudaLogsCallbackHandle;

/* Structures: the driver's. */
typedef CUuuid cudaUUID_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUlaunchAttributeID cudaLaunchAttributeID;
typedef CUlaunchAttributeValue cudaLaunchAttributeValue;
typedef CUlaunchAttribute cudaLaunchAttribute;
typedef CUgraphEdgeData cudaGraphEdgeData;
typedef CUgraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo;
typedef CUDA_GRAPH_INSTANTIATE_PARAMS cudaGraphInstantiateParams;
#define cudaMemLocation CUmemLocation_st
#define cudaMemAccessDesc CUmemAccessDesc_st
#define cudaMemPoolProps CUmemPoolProps_st
#define cudaMemPoolPtrExportData CUmemPoolPtrExportData_st
#define cudaMemcpyAttributes CUmemcpyAttributes_st
#define cudaMemcpy3DBatchOp CUDA_MEMCPY3D_BATCH_OP_st
#define cudaHostNodeParams CUDA_HOST_NODE_PARAMS_st
#define cudaMemAllocNodeParams CUDA_MEM_ALLOC_NODE_PARAMS_v1_st
#define cudaArraySparseProperties CUDA_ARRAY_SPARSE_PROPERTIES_st
#define cudaArrayMemoryRequirements CUDA_ARRAY_MEMORY_REQUIREMENTS_st
#define cudaExternalMemoryHandleDesc CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st
#define cudaExternalMemoryBufferDesc CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st
#define cudaExternalSemaphoreHandleDesc CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st
#define cudaExternalSemaphoreSignalParams SemaphoreParams
#define cudaExternalSemaphoreWaitParams SemaphoreParams
#define cudaExternalSemaphoreSignalNodeParams SemaphoresNodeParams
#define cudaExternalSemaphoreWaitNodeParams SemaphoresNodeParams

/* Callbacks. */
typedef void (*cudaHostFn_t)(void *user_data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *user_data);

/* Structures of the runtime's own. */
struct cudaChannelFormatDesc {
    int x, y, z, w; /* bits of each channel */
    enum cudaChannelFormatKind f;
};

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    int dstDevice;
    struct cudaExtent extent;
};

struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
};

struct cudaResourceDesc {
    unsigned int resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
#if CUDART_MAJOR >= 13
        struct {
            int reserved[32];
        } reserved;
#endif
    } res;
#if CUDART_MAJOR >= 13
    unsigned int flags;
#endif
};

struct cudaResourceViewDesc {
    CUresourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
#if CUDART_MAJOR >= 13
    unsigned int reserved[16];
#endif
};

struct cudaTextureDesc {
    unsigned int addressMode[3], filterMode, readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy, mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};

struct cudaPointerAttributes {
    unsigned int type;
    int device;
    void *devicePointer, *hostPointer;
#if CUDART_MAJOR >= 13
    long reserved[8];
#endif
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
    int requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
    int reserved[16];
};

typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaLaunchParams {
    void *func;
    dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
};

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
};

struct cudaExternalMemoryMipmappedArrayDesc {
    unsigned long long offset;
    struct cudaChannelFormatDesc formatDesc;
    struct cudaExtent extent;
    unsigned int flags, numLevels;
#if CUDART_MAJOR >= 13
    unsigned int reserved[16];
#endif
};

/* The nodes of which the runtime's structure is not the driver's: the beginnings that all versions have. */
#define cudaKernelNodeParamsV2 cudaKernelNodeParams
struct cudaMemcpyNodeParams {
    int flags, reserved[3];
    struct cudaMemcpy3DParms copyParams;
};
struct cudaGraphNodeParams {
    unsigned int type;
    int reserved0[3];
    union {
        long long reserved1[29];
        struct cudaKernelNodeParamsV2 kernel;
        struct cudaMemcpyNodeParams memcpy;
        struct cudaMemsetParams memset;
        struct cudaHostNodeParams host;
        CUDA_MEM_ALLOC_NODE_PARAMS_v2 alloc;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
};

struct cudaDeviceProp {
#define INT(name, attribute) int name;
#define INTS(name, count, ...) int name[count];
#define SIZE(name, attribute) size_t name;
#define SPECIAL(type, name, bound) type name bound;
#include "runtime/properties.def"
#undef INT
#undef INTS
#undef SIZE
#undef SPECIAL
};

#endif
#endif
