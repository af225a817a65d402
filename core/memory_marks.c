/* See memory_marks.h. */
#include "core/memory_marks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "abi/nvtx_memory.h"

/* Per process, written once. */
static pthread_once_t attach_once = PTHREAD_ONCE_INIT;
static nvtxDomainHandle_t domain;
static NvtxHeapRegisterFn register_heap;
static NvtxRegionsRegisterFn register_regions;
static NvtxRegionsUnregisterFn unregister_regions;

/* ---- NVTX itself ---- */

/* The tool fills places[module][id] with its functions, by way of tables[][], which points to them. Only the
 * function that creates a domain is called here. MAX_MODULE: the largest of module_sizes. */
enum { MAX_MODULE = NVTX_CBID_CORE_SIZE };
static NvtxFunctionPointer places[NVTX_CB_MODULE_SIZE][MAX_MODULE];
static NvtxFunctionPointer *tables[NVTX_CB_MODULE_SIZE][MAX_MODULE + 1];

static const unsigned module_sizes[NVTX_CB_MODULE_SIZE] = {
    [NVTX_CB_MODULE_CORE] = NVTX_CBID_CORE_SIZE,     [NVTX_CB_MODULE_CUDA] = NVTX_CBID_CUDA_SIZE,
    [NVTX_CB_MODULE_OPENCL] = NVTX_CBID_OPENCL_SIZE, [NVTX_CB_MODULE_CUDART] = NVTX_CBID_CUDART_SIZE,
    [NVTX_CB_MODULE_CORE2] = NVTX_CBID_CORE2_SIZE,   [NVTX_CB_MODULE_SYNC] = NVTX_CBID_SYNC_SIZE,
};

/* NVTX's GetModuleFunctionTable, which the tool calls: 1 on success. */
static int give_table(int module, NvtxFunctionTable *table, unsigned *size)
{
    if (module <= 0 || module >= NVTX_CB_MODULE_SIZE) return 0;
    for (unsigned i = 1; i < module_sizes[module]; i++) tables[module][i] = &places[module][i];
    if (table) *table = tables[module];
    if (size) *size = module_sizes[module];
    return 1;
}

static void take_version(uint32_t version) { (void)version; }

/* NVTX's export tables, which the tool asks for; NULL for others. */
static const void *give_export(uint32_t id)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof callbacks, give_table};
    static const NvtxExportTableVersionInfo version = {sizeof version, NVTX_VERSION, 0, take_version};
    if (id == NVTX_ETID_CALLBACKS) return &callbacks;
    return id == NVTX_ETID_VERSIONINFO ? &version : NULL;
}

static void attach_core(void *tool)
{
    NvtxInitializeInjectionNvtxFunc_t start =
        (NvtxInitializeInjectionNvtxFunc_t)dlsym(tool, "InitializeInjectionNvtx2");
    if (!start || !start(give_export)) return;
    NvtxDomainCreateFn create =
        (NvtxDomainCreateFn)places[NVTX_CB_MODULE_CORE2][NVTX_CBID_CORE2_DomainCreateA];
    if (create) domain = create("pycuda");
}

/* ---- The extension for memory ---- */

/* Passes the slots to the tool, which may write functions to them for as long as the process lives. False if
 * it does not know the extension. */
static bool fill_slots(void *tool, intptr_t *slots)
{
    NvtxExtInitializeInjectionFunc_t start =
        (NvtxExtInitializeInjectionFunc_t)dlsym(tool, "InitializeInjectionNvtxExtension");
    static nvtxExtModuleSegment_t segment = {.segmentId = 1, .slotCount = NVTX_EXT_MEM_SLOT_COUNT};
    static nvtxExtModuleInfo_t info = {.nvtxVer = NVTX_VERSION,
                                       .structSize = sizeof info,
                                       .moduleId = NVTX_EXT_MODULEID_MEM,
                                       .compatId = NVTX_EXT_COMPATID_MEM,
                                       .segmentsCount = 1,
                                       .segments = &segment};
    segment.functionSlots = slots;
    return start && start(&info);
}

/* Sets all three functions, or none if one is missing: a slot of 0 is empty, 1 means that the tool wants no
 * calls. */
static void take_functions(const intptr_t *slots)
{
    intptr_t heap = slots[NVTX3EXT_CBID_nvtxMemHeapRegister];
    intptr_t use = slots[NVTX3EXT_CBID_nvtxMemRegionsRegister];
    intptr_t end = slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister];
    if (heap <= 1 || use <= 1 || end <= 1) return;
    register_regions = (NvtxRegionsRegisterFn)use;
    unregister_regions = (NvtxRegionsUnregisterFn)end;
    register_heap = (NvtxHeapRegisterFn)heap;
}

static void attach(void)
{
    static intptr_t slots[NVTX_EXT_MEM_SLOT_COUNT];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path && *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!tool) return;
    attach_core(tool);
    if (fill_slots(tool, slots)) take_functions(slots);
}

bool memory_marks_wanted(void)
{
    pthread_once(&attach_once, attach);
    return register_heap != NULL;
}

static const void *address(CUdeviceptr pointer) { return (const void *)(uintptr_t)pointer; }

IN_CALL void *memory_marks_block(CUdeviceptr pointer, size_t bytes)
{
    const nvtxMemVirtualRangeDesc_t range = {bytes, address(pointer)};
    const nvtxMemHeapDesc_t heap = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                    .structSize = sizeof heap,
                                    .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                                    .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                    .typeSpecificDescSize = sizeof range,
                                    .typeSpecificDesc = &range};
    return register_heap(domain, &heap);
}

IN_CALL void memory_marks_use(void *heap, CUdeviceptr pointer, size_t size)
{
    const nvtxMemVirtualRangeDesc_t range = {size, address(pointer)};
    const nvtxMemRegionsRegisterBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                                 .structSize = sizeof batch,
                                                 .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                 .heap = heap,
                                                 .regionCount = 1,
                                                 .regionDescElementSize = sizeof range,
                                                 .regionDescElements = &range};
    register_regions(domain, &batch);
}

IN_CALL void memory_marks_end(CUdeviceptr pointer)
{
    const nvtxMemRegionRef_t region = {.pointer = address(pointer)};
    const nvtxMemRegionsUnregisterBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                                   .structSize = sizeof batch,
                                                   .refType = NVTX_MEM_REGION_REF_TYPE_POINTER,
                                                   .refCount = 1,
                                                   .refElementSize = sizeof region,
                                                   .refElements = &region};
    unregister_regions(domain, &batch);
}
