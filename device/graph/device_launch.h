/* Graphs that kernels launch (cudaGraphLaunch in device code). They run in the task of the graph whose kernel
 * has launched them: at once, before that graph goes on, or as its tail, after it. */
#ifndef DEVICE_GRAPH_DEVICE_LAUNCH_H
#define DEVICE_GRAPH_DEVICE_LAUNCH_H

#include "graph/program.h"

typedef struct GraphRun GraphRun;

typedef struct GraphRuns {
    GraphRun *first, **end;
} GraphRuns;

/* One launch of an executable graph, by the host or by a kernel. */
struct GraphRun {
    GraphRun *next;
    Exec *exec; /* a reference */
    Program *program; /* a reference */
    bool is_tail;
    GraphRuns tails; /* what its kernels have launched to run after it */
};

/* What the kernel that is running has launched; its threads add launches under the graphs' lock. */
typedef struct KernelLaunches {
    Exec *exec; /* the graph that the kernel is a node of, borrowed */
    GraphRuns runs;
} KernelLaunches;

/* A launch of the executable graph, which counts as pending from now on; NULL if out of memory. */
GraphRun *graph_run_new(Exec *exec);
/* The launch is done, or will not run. Releases it, and its tails. */
void graph_run_free(GraphRun *run);
void graph_runs_init(GraphRuns *runs);
void graph_runs_append(GraphRuns *runs, GraphRun *run);
/* Releases all runs. */
void graph_runs_free(GraphRuns *runs);
/* Takes all runs as a list, the last one first. */
GraphRun *graph_runs_take_reversed(GraphRuns *runs);

/* An error if a graph cannot be launched by kernels; why and the node are those of program_new(). */
CUresult graph_check_device_launch(const Graph *graph, Node **error_node, CUgraphInstantiateResult *why);

#endif
