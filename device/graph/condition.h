/* The value that a conditional node looks at: kernels set it by cudaGraphSetConditional. */
#ifndef DEVICE_GRAPH_CONDITION_H
#define DEVICE_GRAPH_CONDITION_H

#include "graph/graph.h"

struct Condition {
    _Atomic unsigned references;
    CUgraphConditionalHandle handle;
    Context *context;           /* a reference */
    unsigned initial, flags;
    _Atomic unsigned value;
    bool used;                  /* by a node */
    Condition *next;            /* of its graph */
    Condition *next_of_all;
};

/* The work of a conditional node; its bodies go to params->phGraph_out. */
CUresult condition_make_work(Work *work, CUgraph graph, CUDA_CONDITIONAL_NODE_PARAMS *params);

Condition *condition_hold(Condition *condition);
void condition_put(Condition *condition);
/* The condition of that handle with a reference, or NULL. */
Condition *condition_find(CUgraphConditionalHandle handle);

#endif
