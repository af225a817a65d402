/* The interface of NVTX's memory extension, written out as in cuda_abi.h: without a tool attached neither a
 * header nor a library of NVTX is needed. With ABI_USE_NVTX_H the names come from NVIDIA's headers instead.
 *
 * A tool is a library that NVTX_INJECTION64_PATH names. It exports two functions. InitializeInjectionNvtx2
 * gets a function that returns tables of pointers to function pointers, which it sets to its own functions;
 * InitializeInjectionNvtxExtension gets the slots of one extension and fills them. Both return 0 on failure.
 */
#ifndef ABI_NVTX_MEMORY_H
#define ABI_NVTX_MEMORY_H

#ifdef ABI_USE_NVTX_H
#include <nvtx3/nvToolsExtMem.h>
#else
#include <stddef.h>
#include <stdint.h>

/* ---- Attaching ---- */

enum {
    NVTX_VERSION = 3,
    NVTX_ETID_CALLBACKS = 1,
    NVTX_ETID_VERSIONINFO = 3,
    NVTX_CB_MODULE_CORE = 1,
    NVTX_CB_MODULE_CUDA = 2,
    NVTX_CB_MODULE_OPENCL = 3,
    NVTX_CB_MODULE_CUDART = 4,
    NVTX_CB_MODULE_CORE2 = 5,
    NVTX_CB_MODULE_SYNC = 6,
    NVTX_CB_MODULE_SIZE = 7,
    NVTX_CBID_CORE_SIZE = 16, /* the functions of a module, counted from 1 */
    NVTX_CBID_CUDA_SIZE = 9,
    NVTX_CBID_OPENCL_SIZE = 15,
    NVTX_CBID_CUDART_SIZE = 7,
    NVTX_CBID_CORE2_SIZE = 16,
    NVTX_CBID_SYNC_SIZE = 7,
    NVTX_CBID_CORE2_DomainCreateA = 12,
    NVTX_EXT_MODULEID_MEM = 1,
    NVTX_EXT_COMPATID_MEM = 0x0102,
    NVTX_EXT_MEM_SLOT_COUNT = 63,
    NVTX3EXT_CBID_nvtxMemHeapRegister = 0, /* slots of the extension for memory */
    NVTX3EXT_CBID_nvtxMemRegionsRegister = 3,
    NVTX3EXT_CBID_nvtxMemRegionsUnregister = 5,
};

typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable;
typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t id);
typedef int (*NvtxInitializeInjectionNvtxFunc_t)(NvtxGetExportTableFunc_t tables);

typedef struct NvtxExportTableCallbacks {
    size_t struct_size;
    int (*GetModuleFunctionTable)(int module, NvtxFunctionTable *table, unsigned *size);
} NvtxExportTableCallbacks;

typedef struct NvtxExportTableVersionInfo {
    size_t struct_size;
    uint32_t version, reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
} NvtxExportTableVersionInfo;

typedef struct nvtxExtModuleSegment_t {
    size_t segmentId, slotCount;
    intptr_t *functionSlots;
} nvtxExtModuleSegment_t;

typedef struct nvtxExtModuleInfo_t {
    uint16_t nvtxVer, structSize, moduleId, compatId;
    size_t segmentsCount;
    nvtxExtModuleSegment_t *segments;
    intptr_t (*getExportFunction)(uint32_t id);
    const void *extInfo;
} nvtxExtModuleInfo_t;

typedef int (*NvtxExtInitializeInjectionFunc_t)(nvtxExtModuleInfo_t *info);

/* ---- Memory ---- */

enum {
    NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 1,
    NVTX_MEM_TYPE_VIRTUAL_ADDRESS = 1,
    NVTX_MEM_REGION_REF_TYPE_POINTER = 1,
};

typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxMemHeap_v1 *nvtxMemHeapHandle_t;

typedef struct nvtxMemVirtualRangeDesc_t {
    size_t size;
    const void *ptr;
} nvtxMemVirtualRangeDesc_t;

typedef struct nvtxMemHeapDesc_t {
    uint16_t extCompatID, structSize;
    uint32_t reserved0, usage, type;
    size_t typeSpecificDescSize;
    const void *typeSpecificDesc;
    uint32_t category, messageType;
    const char *message;
} nvtxMemHeapDesc_t;

typedef struct nvtxMemRegionsRegisterBatch_t {
    uint16_t extCompatID, structSize;
    uint32_t regionType;
    nvtxMemHeapHandle_t heap;
    size_t regionCount, regionDescElementSize;
    const void *regionDescElements;
    void **regionHandleElementsOut;
} nvtxMemRegionsRegisterBatch_t;

typedef union nvtxMemRegionRef_t {
    const void *pointer;
    void *handle;
} nvtxMemRegionRef_t;

typedef struct nvtxMemRegionsUnregisterBatch_t {
    uint16_t extCompatID, structSize;
    uint32_t refType;
    size_t refCount, refElementSize;
    const nvtxMemRegionRef_t *refElements;
} nvtxMemRegionsUnregisterBatch_t;

#endif

typedef nvtxDomainHandle_t (*NvtxDomainCreateFn)(const char *name);
typedef nvtxMemHeapHandle_t (*NvtxHeapRegisterFn)(nvtxDomainHandle_t, const nvtxMemHeapDesc_t *);
typedef void (*NvtxRegionsRegisterFn)(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t *);
typedef void (*NvtxRegionsUnregisterFn)(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t *);

#endif
