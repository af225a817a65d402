/* What the threads of a grid launch: gathered while its blocks run, run after them (descendants.c). Copies
 * and fills that they ask for are launches, too.
 *
 * A launch is opened (the kernel gets a buffer for the parameters), then launched (the parameters are copied
 * from the buffer). It counts as pending until it and all that it launches in turn are done.
 *
 * Launches are ordered by queues: those of one stream are in one queue, which other streams may share,
 * because there are CHILD_QUEUES for all. Waiting for an event orders all later launches after all earlier
 * ones, in whatever streams they are. Tail launches run one by one after all others.
 */
#ifndef DEVICE_EXEC_RUNTIME_CHILDREN_H
#define DEVICE_EXEC_RUNTIME_CHILDREN_H

#include <pthread.h>

#include "exec/runtime/transfer.h"
#include "exec/state/launch.h"

enum { CHILD_QUEUES = 16 };

typedef struct Child Child;

typedef struct ChildList {
    Child *first, **end;
} ChildList;

/* The launches of a grid's threads. */
typedef struct Children {
    /* While the grid's blocks run, guarded by `lock`. */
    pthread_mutex_t lock;
    Child *open;                /* opened, not launched yet */
    ChildList launched, tail;
    uint32_t next_queue;        /* for the next launch that is ordered with no other (CHILD_FREE) */
    bool after_all;             /* the next launch waits for all before it */

    /* After the grid's blocks are done, guarded by the launch tree's lock (descendants.c). */
    ChildList queues[CHILD_QUEUES]; /* launches that wait for those before them */
    uint32_t unfinished;        /* launches that were put into the queues and are not done */
} Children;

typedef struct ChildShape {
    uint32_t grid[3], block[3], shared;
} ChildShape;

typedef struct ChildCall {
    uint64_t function; /* the address of its CodeFunction, or any other number that the program passed */
    ChildShape shape;
} ChildCall;

struct Child {
    Children own; /* what it launches itself; must be first: a pointer to it is cast to Child */
    Child *next;
    Children *siblings; /* the launches of its parent, of which it is one */
    const CodeFunction *function; /* NULL for a transfer, and until the launch names it */
    ChildShape shape;
    uint64_t buffer; /* to which the parent writes the parameters; freed at the launch */
    uint32_t size; /* of the buffer and of params */
    uint32_t queue;
    bool after_all;
    _Alignas(PARAMS_ALIGN) uint8_t params[]; /* or a Transfer */
};

void children_init(Children *children);
/* The launches that a launch waits for. */
typedef enum ChildOrder {
    CHILD_QUEUED, /* after those of the same queue */
    CHILD_FREE, /* after none */
    CHILD_TAIL /* after all */
} ChildOrder;

/* Opens a launch. Returns the address of a buffer for its parameters; 0, with *error set, when the launch
 * is not possible. *error and the results of the functions below are error codes of CUDA's runtime, 0 for
 * success. */
uint64_t children_open(Children *children, const GridLaunch *parent, const ChildCall *call, int *error);
/* As children_open(), for a kernel that is named only by the launch: a buffer of `size` bytes. */
uint64_t children_reserve(Children *children, const GridLaunch *parent, uint64_t align, uint64_t size,
                          int *error);
/* Launches the launch that was opened with that buffer. call: NULL after children_open(), the kernel and
 * its shape after children_reserve(). */
int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, const ChildCall *call,
                    ChildOrder order, uint64_t queue);
/* Launches a copy or a fill, which *transfer is copied from. */
int children_transfer(Children *children, const GridLaunch *parent, const Transfer *transfer,
                      ChildOrder order, uint64_t queue);
/* What is launched from now on runs after all that was launched so far. */
void children_wait(Children *children);
/* Drops what was not launched, once the blocks are done. */
void children_drop_open(Children *children, DeviceRuntime *runtime);

void child_list_init(ChildList *list);
void child_list_append(ChildList *list, Child *child);
/* Takes the first one off the list; NULL when there is none. */
Child *child_list_take(ChildList *list);

/* In run/descendants.c: runs what the grid of the host's launch has launched, and all that these launch
 * in turn. After a fault, of the host's grid (then it is in *fault already) or of one of these, no more
 * are run. Returns fault->code. */
int descendants_run(Children *root, const GridLaunch *launch, WorkerPool *pool, ExecFault *fault);

#endif
