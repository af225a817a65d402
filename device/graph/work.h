/* What a node of a graph does, in the driver's terms and ready to be done: one structure for nodes and for
 * the steps of an executable graph, which holds all that it needs. */
#ifndef DEVICE_GRAPH_WORK_H
#define DEVICE_GRAPH_WORK_H

#include "api/copy/copy.h"
#include "api/copy/fill.h"
#include "api/launch/launch.h"
#include "api/memory/external.h"
#include "api/stream/event.h"
#include "graph/memory.h"

typedef struct CUgraph_st Graph;
typedef struct CUgraphNode_st Node;
typedef struct CUgraphExec_st Exec;
typedef struct Condition Condition;

enum { KERNEL_ATTRIBUTES = 17 }; /* ids of attributes are less */

/* What cuGraphKernelNodeSetAttribute has set. */
typedef struct KernelAttributes {
    uint32_t set;
    CUlaunchAttributeValue values[KERNEL_ATTRIBUTES];
} KernelAttributes;

typedef struct KernelWork {
    Function *function; /* a reference */
    LaunchConfig shape;
    uint8_t *params; /* owned: the parameters' bytes */
    void **pointers; /* owned: to each parameter in them */
    KernelAttributes *attributes; /* owned; NULL: none */
} KernelWork;

typedef struct CopyWork {
    CUDA_MEMCPY3D shape; /* as the program described it, or would have */
    CopyJob job;
    Array *arrays[2]; /* references; NULL where a side is not an array */
} CopyWork;

typedef struct HostWork {
    CUhostFn function;
    void *data;
} HostWork;

/* Words that are written and waited for. */
typedef struct ValuesWork {
    CUstreamBatchMemOpParams *operations; /* owned */
    unsigned count;
} ValuesWork;

/* External semaphores that are signaled or waited for: what the program gave, in arrays of the work's own,
 * with a reference to each semaphore. */
typedef SemaphoresNodeParams SemaphoresWork;

typedef struct ConditionalWork {
    Condition *condition; /* a reference */
    CUgraphConditionalNodeType type;
    unsigned size;
    Graph **bodies; /* owned: `size` graphs */
} ConditionalWork;

typedef struct Work {
    CUgraphNodeType type;
    Context *context; /* a reference; NULL where it does not matter */
    union {
        KernelWork kernel;
        CopyWork copy;
        FillJob fill;
        HostWork host;
        ValuesWork values;
        SemaphoresWork semaphores;
        Graph *child; /* a reference */
        Event *event; /* a reference */
        GraphMemory *memory; /* a reference */
        CUdeviceptr address; /* to be freed */
        ConditionalWork conditional;
    };
} Work;

/* The context of that handle, or the current one, with a reference. */
CUresult work_enter(CUcontext handle, Context **out);
/* Work of that kind, whose other fields the caller sets; context may be NULL. */
void work_begin(Work *work, CUgraphNodeType type, Context *context);
/* Makes the work, checked as the call of that name would; it holds what it names. On success the caller owns
 * *work: pass it on or call work_free. Parameters come by `pointers` or by `extra`; the other is NULL. */
CUresult work_make_kernel(Work *work, Function *function, const LaunchConfig *shape, void **pointers,
                          void **extra);
CUresult work_make_kernel_from_params(Work *work, const CUDA_KERNEL_NODE_PARAMS *params);
/* Copies from the node's previous work what parameters do not say: cooperative or not, clusters, the part of
 * the device. */
CUresult work_keep_shape(Work *work, const Work *before);
CUresult work_make_copy_from_job(Work *work, const CopyJob *job, Context *context);
CUresult work_make_copy_from_shape(Work *work, const CUDA_MEMCPY3D *shape, CUcontext context);
CUresult work_make_fill(Work *work, const FillJob *job, Context *context);
CUresult work_make_fill_from_params(Work *work, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context);
CUresult work_make_values(Work *work, const CUstreamBatchMemOpParams *operations, unsigned count,
                          Context *context);
CUresult work_make_values_from_params(Work *work, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult work_make_semaphores(Work *work, const SemaphoresNodeParams *params, bool wait, Context *context);
/* The context is the current one. */
CUresult work_make_semaphores_from_params(Work *work, const SemaphoresNodeParams *params, bool wait);
CUresult work_make_host(Work *work, CUhostFn function, void *data);
CUresult work_make_event(Work *work, CUgraphNodeType type, CUevent event);
/* Work of any kind but those that make graphs or memory, from the parameters of cuGraphAddNode. */
CUresult work_make_from_params(Work *work, const CUgraphNodeParams *params);

/* Work that does the same, without the bodies of conditional work. */
CUresult work_copy(Work *to, const Work *from);
void work_free(Work *work);

/* Does what needs no launch: copies, fills, host functions. */
void work_do(const Work *work);

const char *work_type_name(CUgraphNodeType type);

#endif
