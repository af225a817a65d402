/* Rows of abi/cuda_exports.def: memory and semaphores that other interfaces share by file descriptors. */
#ifndef DEVICE_API_BASE_EXTERNAL_H
#define DEVICE_API_BASE_EXTERNAL_H

#include "api/base/api.h"

typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;

typedef union ExternalHandle {
    int fd;
    void *win32[2];
} ExternalHandle;

typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st {
    int type; /* CUexternalMemoryHandleType */
    ExternalHandle handle;
    unsigned long long size;
    unsigned int flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st {
    unsigned long long offset, size;
    unsigned int flags, reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st {
    unsigned long long offset;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    unsigned int levels, reserved[16];
} CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
CU_API CUresult cuImportExternalMemory(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *handle);
CU_API CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory memory,
                                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *part);
CU_API CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray *out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *part);
CU_API CUresult cuDestroyExternalMemory(CUexternalMemory memory);

typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st {
    int type; /* CUexternalSemaphoreHandleType */
    ExternalHandle handle;
    unsigned int flags, reserved[16];
} CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;
/* CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and _WAIT_PARAMS. They differ only in members for kinds of semaphores
 * that are not imported here. */
typedef struct SemaphoreParams {
    cuuint64_t params[9];
    unsigned int flags, reserved[16];
} SemaphoreParams;
/* CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and _WAIT_NODE_PARAMS. */
typedef struct SemaphoresNodeParams {
    CUexternalSemaphore *semaphores;
    const SemaphoreParams *params;
    unsigned int count;
} SemaphoresNodeParams;
CU_API CUresult cuImportExternalSemaphore(CUexternalSemaphore *out,
                                          const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *handle);
CU_API CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore);
#define SEMAPHORES_CALL(name) \
    CU_API CUresult name(const CUexternalSemaphore *semaphores, const SemaphoreParams *params, \
                         unsigned int count, CUstream stream);
SEMAPHORES_CALL(cuSignalExternalSemaphoresAsync)
SEMAPHORES_CALL(cuSignalExternalSemaphoresAsync_ptsz)
SEMAPHORES_CALL(cuWaitExternalSemaphoresAsync)
SEMAPHORES_CALL(cuWaitExternalSemaphoresAsync_ptsz)
#define SEMAPHORES_NODE(kind) \
    CU_API CUresult cuGraphAddExternalSemaphores##kind##Node(CUgraphNode *out, CUgraph graph, \
                                                             const CUgraphNode *before, size_t count, \
                                                             const SemaphoresNodeParams *params); \
    CU_API CUresult cuGraphExternalSemaphores##kind##NodeGetParams(CUgraphNode node, \
                                                                   SemaphoresNodeParams *out); \
    CU_API CUresult cuGraphExternalSemaphores##kind##NodeSetParams(CUgraphNode node, \
                                                                   const SemaphoresNodeParams *params); \
    CU_API CUresult cuGraphExecExternalSemaphores##kind##NodeSetParams(CUgraphExec exec, CUgraphNode node, \
                                                                       const SemaphoresNodeParams *params);
SEMAPHORES_NODE(Signal)
SEMAPHORES_NODE(Wait)

#endif
