/* Executable graphs. A program is the nodes' work in topological order, prepared as far as possible.
 *
 * A program is not changed while a launch has a reference to it: then a change is made to a copy, which
 * shares all steps except the one that changes. The nodes of child graphs are steps of their parent's
 * program; each body of a conditional node is a program of its own.
 */
#ifndef DEVICE_GRAPH_PROGRAM_H
#define DEVICE_GRAPH_PROGRAM_H

#include "graph/graph.h"

typedef struct Program Program;

typedef struct Step {
    _Atomic unsigned references;
    uint64_t node;              /* the id of the node that it was made from */
    uint64_t shape;             /* node_shape() of that node */
    Work work;
    bool disabled;              /* by cuGraphNodeSetEnabled */
    size_t slot; /* its index in ReplayTask.ranges (memory) or .tickets (records of events) */
    bool kept; /* allocation: the program does not free the memory. Free: its program has
                                 * allocated the memory */
    GridLaunch launch; /* of a kernel */
    Program **bodies; /* of a conditional node: owned, work.conditional.size of them */
} Step;

/* Where the step of a node is. */
typedef struct StepPlace {
    uint64_t node; /* its id */
    size_t index; /* in Program.steps */
} StepPlace;

struct Program {
    _Atomic unsigned references;
    size_t count;
    Step **steps; /* a reference each */
    StepPlace *places; /* owned: of all steps, sorted by node */
    size_t ranges, tickets; /* how many of them a launch needs */
    bool calls_host; /* it has host functions */
    bool waits; /* it has nodes that wait for events */
    bool endless; /* it has nodes that may wait forever: for words of memory, for semaphores */
    bool conditional; /* it has conditional nodes */
};

struct CUgraphExec_st {
    Object object;
    Program *program; /* a reference; under the graphs' lock */
    unsigned long long flags; /* CUDA_GRAPH_INSTANTIATE_FLAG_* */
    UserReferences users; /* owned */
    Stream *stream; /* of the last launch, a reference: the next launch waits for it; or NULL */
    uint64_t number; /* of that launch's task */
    bool uploaded; /* as it is now: kernels may launch it; under the graphs' lock */
    _Atomic unsigned pending; /* launches that are not done */
};

/* Makes the program of a graph. After an error *why says what is wrong, and *error_node is the node that it
 * is about, unless it is about none. */
CUresult program_new(const Graph *graph, Program **out, Node **error_node, CUgraphInstantiateResult *why);
Program *program_hold(Program *program);
void program_put(Program *program);
/* The program of an executable graph, to be changed: if there are other references, a copy. Kernels may not
 * launch the graph until it is uploaded again. NULL if out of memory. Under the graphs' lock. */
Program *exec_own_program(Exec *exec);
/* The index of the step of the node with that id; program->count if there is none. */
size_t program_find(const Program *program, uint64_t node);
/* A new step with that work, which it owns; its other properties are copied from `like`, unless that is
 * NULL. NULL if out of memory; then the work is freed. */
Step *step_new(const Step *like, Work *work);
void step_put(Step *step);
/* Makes the bodies of a new step of a conditional node. The step owns them. */
CUresult program_make_bodies(const Node *node, Step *step);
/* Replaces the step at that index; the program owns the caller's reference. */
void program_set(Program *program, size_t index, Step *step);
/* Claims the memory that the program allocates, which only one executable graph at a time may do. False if
 * another one has claimed a part of it; then nothing is claimed. Under the graphs' lock. */
bool program_claim(const Program *program);
/* Undoes program_claim(). */
void program_unclaim(const Program *program);

/* As graph_of(), of an executable graph. */
Exec *exec_of(CUgraphExec handle);

/* Queues one launch of the executable graph in the stream. */
CUresult replay_submit(Exec *exec, Stream *stream);

#endif
