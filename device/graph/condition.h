/* Conditions: a conditional node reads the value of its condition, which kernels set by
 * cudaGraphSetConditional. */
#ifndef DEVICE_GRAPH_CONDITION_H
#define DEVICE_GRAPH_CONDITION_H

#include "graph/graph.h"

struct Condition {
    _Atomic unsigned references;
    CUgraphConditionalHandle handle;
    Context *context;           /* a reference */
    unsigned initial;           /* the value at the beginning and, by the flags, at each launch */
    unsigned flags;             /* CU_GRAPH_COND_ASSIGN_DEFAULT or 0 */
    _Atomic unsigned value;
    bool used;                  /* by a conditional node: at most one may use it */
    Condition *next;            /* in the list of its graph */
    Condition *next_of_all;     /* in the list of all */
};

/* Makes the work of a conditional node, whose new bodies are returned in params->phGraph_out. */
CUresult condition_make_work(Work *work, CUgraph graph, CUDA_CONDITIONAL_NODE_PARAMS *params);

Condition *condition_hold(Condition *condition);
void condition_put(Condition *condition);
/* The condition of that handle with a reference, or NULL. */
Condition *condition_find(CUgraphConditionalHandle handle);

#endif
