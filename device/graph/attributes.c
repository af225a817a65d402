/* Attributes of kernel nodes. All are stored and returned; only cooperative and the cluster have an effect
 * here. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

/* Whether kernel nodes have the attribute, by the driver's header. */
static bool is_kernel_attribute(CUkernelNodeAttrID id)
{
    enum { MEM_SYNC_MAP = 9, MEM_SYNC = 10 }; /* CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, _MEM_SYNC_DOMAIN */
    const uint32_t supported =
        1u << CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW | 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        | 1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        | 1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE | 1u << CU_LAUNCH_ATTRIBUTE_PRIORITY
        | 1u << MEM_SYNC_MAP | 1u << MEM_SYNC | 1u << CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    return id < KERNEL_ATTRIBUTES && supported >> id & 1;
}

/* The kernel node of a handle; NULL if it is none. */
static Node *kernel_node(CUgraphNode handle)
{
    Node *node = node_of(handle);
    return node && node->work.type == CU_GRAPH_NODE_TYPE_KERNEL ? node : NULL;
}

static CUresult get_attribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue *out)
{
    const Node *node = kernel_node(handle);
    if (!node || !is_kernel_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
    const KernelAttributes *attributes = node->work.kernel.attributes;
    memset(out, 0, sizeof *out);
    if (attributes && attributes->set >> id & 1) *out = attributes->values[id];
    const LaunchConfig *shape = &node->work.kernel.shape;
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) out->cooperative = shape->cooperative;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        out->clusterDim.x = shape->cluster[0];
        out->clusterDim.y = shape->cluster[1];
        out->clusterDim.z = shape->cluster[2];
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value)
{
    TRY(driver_check());
    return value ? WITH_GRAPHS(get_attribute(node, id, value)) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_cooperative(KernelWork *kernel, bool cooperative)
{
    LaunchConfig shape = kernel->shape;
    shape.cooperative = cooperative;
    if (cooperative) TRY(launch_check_cooperative(kernel->function, &shape));
    kernel->shape = shape;
    return CUDA_SUCCESS;
}

static CUresult set_cluster(KernelWork *kernel, const CUkernelNodeAttrValue *value)
{
    LaunchConfig shape = kernel->shape;
    shape.cluster[0] = value->clusterDim.x;
    shape.cluster[1] = value->clusterDim.y;
    shape.cluster[2] = value->clusterDim.z;
    TRY(launch_check_cluster(kernel->function, &shape));
    kernel->shape = shape;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
    Node *node = kernel_node(handle);
    if (!node || !is_kernel_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
    KernelWork *kernel = &node->work.kernel;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) TRY(set_cluster(kernel, value));
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) TRY(set_cooperative(kernel, value->cooperative != 0));
    if (!kernel->attributes) kernel->attributes = calloc(1, sizeof *kernel->attributes);
    if (!kernel->attributes) return CUDA_ERROR_OUT_OF_MEMORY;
    kernel->attributes->set |= 1u << id;
    kernel->attributes->values[id] = *value;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue *value)
{
    TRY(driver_check());
    return value ? WITH_GRAPHS(set_attribute(node, id, value)) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_attributes(CUgraphNode to_handle, CUgraphNode from_handle)
{
    Node *to = kernel_node(to_handle);
    const Node *from = kernel_node(from_handle);
    if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
    const KernelAttributes *given = from->work.kernel.attributes;
    const LaunchConfig *shape = &from->work.kernel.shape;
    const CUkernelNodeAttrValue cluster = {
        .clusterDim = {shape->cluster[0], shape->cluster[1], shape->cluster[2]}};
    TRY(set_cooperative(&to->work.kernel, shape->cooperative));
    TRY(set_cluster(&to->work.kernel, &cluster));
    for (CUkernelNodeAttrID id = 0; given && id < KERNEL_ATTRIBUTES; id++)
        if (given->set >> id & 1) TRY(set_attribute(to_handle, id, &given->values[id]));
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    TRY(driver_check());
    return WITH_GRAPHS(copy_attributes(to, from));
}
