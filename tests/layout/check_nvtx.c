/* Compares abi/nvtx_memory.h with NVIDIA's own header, as check_abi.c does for the driver: built twice, with
 * ABI_USE_NVTX_H for the facts of the one, without for those of the other, which has main. */
#include <stdio.h>
#include <string.h>

#include "abi/nvtx_memory.h"

typedef struct Fact {
    const char *name;
    long long value;
} Fact;

#define VALUE(name) {#name, name},
#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field)},

const Fact LIST[] = {
    VALUE(NVTX_VERSION)
    VALUE(NVTX_ETID_CALLBACKS)
    VALUE(NVTX_ETID_VERSIONINFO)
    VALUE(NVTX_CB_MODULE_CORE)
    VALUE(NVTX_CB_MODULE_CUDA)
    VALUE(NVTX_CB_MODULE_OPENCL)
    VALUE(NVTX_CB_MODULE_CUDART)
    VALUE(NVTX_CB_MODULE_CORE2)
    VALUE(NVTX_CB_MODULE_SYNC)
    VALUE(NVTX_CB_MODULE_SIZE)
    VALUE(NVTX_CBID_CORE_SIZE)
    VALUE(NVTX_CBID_CUDA_SIZE)
    VALUE(NVTX_CBID_OPENCL_SIZE)
    VALUE(NVTX_CBID_CUDART_SIZE)
    VALUE(NVTX_CBID_CORE2_SIZE)
    VALUE(NVTX_CBID_SYNC_SIZE)
    VALUE(NVTX_CBID_CORE2_DomainCreateA)
    VALUE(NVTX_EXT_MODULEID_MEM)
    VALUE(NVTX_EXT_COMPATID_MEM)
    VALUE(NVTX_EXT_MEM_SLOT_COUNT)
    VALUE(NVTX3EXT_CBID_nvtxMemHeapRegister)
    VALUE(NVTX3EXT_CBID_nvtxMemRegionsRegister)
    VALUE(NVTX3EXT_CBID_nvtxMemRegionsUnregister)
    VALUE(NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR)
    VALUE(NVTX_MEM_TYPE_VIRTUAL_ADDRESS)
    VALUE(NVTX_MEM_REGION_REF_TYPE_POINTER)
    SIZE(NvtxExportTableCallbacks)
    FIELD(NvtxExportTableCallbacks, GetModuleFunctionTable)
    SIZE(NvtxExportTableVersionInfo)
    FIELD(NvtxExportTableVersionInfo, version)
    FIELD(NvtxExportTableVersionInfo, SetInjectionNvtxVersion)
    SIZE(nvtxExtModuleSegment_t)
    FIELD(nvtxExtModuleSegment_t, slotCount)
    FIELD(nvtxExtModuleSegment_t, functionSlots)
    SIZE(nvtxExtModuleInfo_t)
    FIELD(nvtxExtModuleInfo_t, structSize)
    FIELD(nvtxExtModuleInfo_t, moduleId)
    FIELD(nvtxExtModuleInfo_t, compatId)
    FIELD(nvtxExtModuleInfo_t, segmentsCount)
    FIELD(nvtxExtModuleInfo_t, segments)
    FIELD(nvtxExtModuleInfo_t, getExportFunction)
    FIELD(nvtxExtModuleInfo_t, extInfo)
    SIZE(nvtxMemVirtualRangeDesc_t)
    FIELD(nvtxMemVirtualRangeDesc_t, ptr)
    SIZE(nvtxMemHeapDesc_t)
    FIELD(nvtxMemHeapDesc_t, structSize)
    FIELD(nvtxMemHeapDesc_t, usage)
    FIELD(nvtxMemHeapDesc_t, type)
    FIELD(nvtxMemHeapDesc_t, typeSpecificDescSize)
    FIELD(nvtxMemHeapDesc_t, typeSpecificDesc)
    FIELD(nvtxMemHeapDesc_t, category)
    FIELD(nvtxMemHeapDesc_t, messageType)
    FIELD(nvtxMemHeapDesc_t, message)
    SIZE(nvtxMemRegionsRegisterBatch_t)
    FIELD(nvtxMemRegionsRegisterBatch_t, structSize)
    FIELD(nvtxMemRegionsRegisterBatch_t, regionType)
    FIELD(nvtxMemRegionsRegisterBatch_t, heap)
    FIELD(nvtxMemRegionsRegisterBatch_t, regionCount)
    FIELD(nvtxMemRegionsRegisterBatch_t, regionDescElementSize)
    FIELD(nvtxMemRegionsRegisterBatch_t, regionDescElements)
    FIELD(nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut)
    SIZE(nvtxMemRegionRef_t)
    SIZE(nvtxMemRegionsUnregisterBatch_t)
    FIELD(nvtxMemRegionsUnregisterBatch_t, structSize)
    FIELD(nvtxMemRegionsUnregisterBatch_t, refType)
    FIELD(nvtxMemRegionsUnregisterBatch_t, refCount)
    FIELD(nvtxMemRegionsUnregisterBatch_t, refElementSize)
    FIELD(nvtxMemRegionsUnregisterBatch_t, refElements)
    {NULL, 0},
};

#ifndef ABI_USE_NVTX_H
extern const Fact real_facts[];

int main(void)
{
    int wrong = 0;
    for (int i = 0; ours_facts[i].name; i++) {
        const Fact *ours = &ours_facts[i], *real = &real_facts[i];
        if (strcmp(ours->name, real->name) == 0 && ours->value == real->value) continue;
        printf("%s: ours %lld, real %lld\n", ours->name, ours->value, real->value);
        wrong++;
    }
    return wrong != 0;
}
#endif
