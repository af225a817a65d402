/* Executable graphs: the nodes' work in an order that respects the edges, prepared as far as it can be.
 *
 * A program is not changed while a launch holds it: a change of one that is held is made to a copy, whose
 * steps are the same but for the one that changes. Child graphs are part of their parent's steps; bodies of
 * conditional nodes are programs of their own.
 */
#ifndef DEVICE_GRAPH_PROGRAM_H
#define DEVICE_GRAPH_PROGRAM_H

#include "graph/graph.h"

typedef struct Program Program;

typedef struct Step {
    _Atomic unsigned references;
    uint64_t node;              /* the id of the node it was made from */
    uint64_t shape;             /* of that node's edges */
    Work work;
    bool disabled;
    size_t slot;                /* of a launch's ranges or tickets, for what needs one */
    bool kept;                  /* memory that the graph does not free */
    GridLaunch launch;          /* of a kernel */
    Program **bodies;           /* of a conditional node: owned, work.conditional.size of them */
} Step;

typedef struct StepPlace {
    uint64_t node;
    size_t index;
} StepPlace;

struct Program {
    _Atomic unsigned references;
    size_t count;
    Step **steps;               /* a reference each */
    StepPlace *places;          /* by node, ascending */
    size_t ranges, tickets;     /* that a launch needs */
    bool calls_host, waits;     /* has host functions; waits for events */
    bool endless;               /* may wait for words of memory */
    bool conditional;
};

struct CUgraphExec_st {
    Object object;
    Program *program;           /* a reference; under the graphs' lock */
    unsigned long long flags;
    UserReferences users;
    Stream *stream;             /* of the last launch, a reference; launches follow each other */
    uint64_t number;
};

/* The program of a graph. On an error *why says what is wrong, and *error_node with which node, if it is
 * one. */
CUresult program_new(const Graph *graph, Program **out, Node **error_node, CUgraphInstantiateResult *why);
Program *program_hold(Program *program);
void program_put(Program *program);
/* Makes *program one that has no other holder, by copying it if need be. Returns it; NULL if out of
 * memory. */
Program *program_own(Program **program);
/* The step of a node, or program->count. */
size_t program_find(const Program *program, uint64_t node);
/* A new step that does the work. What else it has of its node is copied from `like`, unless that is NULL.
 * Takes the work over, even if it fails. NULL if out of memory. */
Step *step_new(const Step *like, Work *work);
void step_put(Step *step);
/* Makes the bodies of a new step of a conditional node. The step owns them. */
CUresult program_make_bodies(const Node *node, Step *step);
/* Replaces the step at that index. Takes over the caller's reference. */
void program_set(Program *program, size_t index, Step *step);
/* Claims the memory that the program allocates: one executable graph at a time may have it. False when
 * another has a part of it; then nothing is claimed. Under the graphs' lock. */
bool program_claim(const Program *program);
/* Undoes program_claim(). */
void program_yield(const Program *program);

Exec *exec_of(CUgraphExec handle);

/* One launch of the program in the stream. */
CUresult replay_submit(Exec *exec, Stream *stream);

#endif
