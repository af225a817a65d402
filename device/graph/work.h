/* The work of a node of a graph: what it does, as the driver API describes it, checked and ready to be done.
 * Nodes and the steps of executable graphs have it. It has references to all objects that it needs. */
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

enum { KERNEL_ATTRIBUTES = 17 }; /* above the IDs of all attributes of kernel nodes */

/* What cuGraphKernelNodeSetAttribute has set. */
typedef struct KernelAttributes {
    uint32_t set; /* bit id: values[id] was set */
    CUlaunchAttributeValue values[KERNEL_ATTRIBUTES];
} KernelAttributes;

typedef struct KernelWork {
    Function *function; /* a reference */
    LaunchConfig shape;
    uint8_t *params; /* owned: the parameters' bytes */
    void **pointers; /* owned: the address of each parameter in params */
    KernelAttributes *attributes; /* owned; NULL: none */
} KernelWork;

typedef struct CopyWork {
    CUDA_MEMCPY3D shape; /* as the program described it; of a captured copy, made from the job */
    CopyJob job;
    Array *arrays[2]; /* references to the arrays of target and source; NULL: a side is not an array */
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

/* External semaphores that are signaled or waited for. The arrays are owned, with a reference to each
 * semaphore. */
typedef SemaphoresNodeParams SemaphoresWork;

typedef struct ConditionalWork {
    Condition *condition; /* a reference */
    CUgraphConditionalNodeType type;
    unsigned size;
    Graph **bodies; /* owned: `size` graphs */
} ConditionalWork;

typedef struct Work {
    CUgraphNodeType type;
    Context *context; /* a reference; NULL for kinds of work that need none */
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
        CUdeviceptr address; /* of the memory that is freed */
        ConditionalWork conditional;
    };
} Work;

/* The context of that handle, or the current one, with a reference. */
CUresult work_enter(CUcontext handle, Context **out);
/* Sets type and context (NULL: none, else with a new reference); the caller sets the other fields. */
void work_begin(Work *work, CUgraphNodeType type, Context *context);
/* The work_make functions check the arguments as the driver's call for the same work does. After a success
 * the caller owns *work: it passes it to a function that owns it, or calls work_free(). After an error there
 * is nothing to free. */
/* `pointers` and `extra` are those of cuLaunchKernel. */
CUresult work_make_kernel(Work *work, Function *function, const LaunchConfig *shape, void **pointers,
                          void **extra);
CUresult work_make_kernel_from_params(Work *work, const CUDA_KERNEL_NODE_PARAMS *params);
/* Copies from the previous work of the kernel node what new parameters do not contain: whether it is
 * cooperative, the cluster, the part of the device. An error if the kernel cannot have that cluster. */
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
/* From the parameters of cuGraphAddNode; not for child graphs, conditional nodes, and nodes that allocate or
 * free. */
CUresult work_make_from_params(Work *work, const CUgraphNodeParams *params);

/* Makes *to the same work, with references of its own. Conditional work gets no bodies. */
CUresult work_copy(Work *to, const Work *from);
/* Releases what the work has; it becomes empty work. */
void work_free(Work *work);

/* Does a copy, a fill or a host function; nothing for other kinds. */
void work_do(const Work *work);

/* "KERNEL"; "?" for an unknown type. */
const char *work_type_name(CUgraphNodeType type);

#endif
