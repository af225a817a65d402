/* The launches of one grid's threads: opened, launched, run. */
#include "exec/children.h"

#include <stdlib.h>
#include <string.h>

#include "exec/runtime.h"
#include "exec/state.h"

enum { DEEPEST = 24 };

struct Child {
    Child *next;
    const CodeFunction *function;
    ChildShape shape;
    uint64_t buffer;            /* where its parameters are written; given back at the launch */
    _Alignas(16) uint8_t params[];
};

static void list_init(ChildList *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void children_init(Children *children)
{
    children->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    children->open = NULL;
    list_init(&children->launched);
    list_init(&children->tail);
}

/* Counts one more launch; false when there are too many already. */
static bool count_pending(DeviceRuntime *runtime)
{
    if (atomic_fetch_add(&runtime->pending, 1) < runtime->most_pending) return true;
    atomic_fetch_sub(&runtime->pending, 1);
    return false;
}

static Child *child_new(const CodeFunction *function, const ChildShape *shape, DeviceHeap *heap)
{
    size_t size = (sizeof(Child) + function->param_size + 31) & ~(size_t)15;
    uint64_t buffer = heap ? device_heap_alloc(heap, function->param_size ? function->param_size : 1, 16) : 0;
    Child *child = buffer ? aligned_alloc(16, size) : NULL;
    if (child)
        *child = (Child){.function = function, .shape = *shape, .buffer = buffer};
    else if (buffer)
        device_heap_free(heap, buffer);
    return child;
}

/* Whether the parent may launch that; the error if not. */
static int check(const GridLaunch *parent, const CodeFunction *function, const ChildShape *shape)
{
    DeviceRuntime *runtime = parent->runtime;
    int error = runtime->accept(runtime->closure, function, shape->grid, shape->block, shape->shared);
    if (error) return error;
    return parent->depth < DEEPEST ? 0 : RUNTIME_TOO_DEEP;
}

uint64_t children_open(Children *children, const GridLaunch *parent, uint64_t function, const ChildShape *shape,
                       int *error)
{
    DeviceRuntime *runtime = parent->runtime;
    const CodeFunction *code = (const CodeFunction *)(uintptr_t)function;
    *error = check(parent, code, shape);
    if (*error) return 0;
    Child *child = NULL;
    if (count_pending(runtime)) {
        child = child_new(code, shape, runtime->buffers(runtime->closure));
        if (!child) atomic_fetch_sub(&runtime->pending, 1);
    }
    if (!child) {
        *error = RUNTIME_TOO_MANY_PENDING;
        return 0;
    }
    pthread_mutex_lock(&children->lock);
    child->next = children->open;
    children->open = child;
    pthread_mutex_unlock(&children->lock);
    return child->buffer;
}

static Child *take_open_locked(Children *children, uint64_t buffer)
{
    for (Child **at = &children->open; *at; at = &(*at)->next) {
        Child *child = *at;
        if (child->buffer != buffer) continue;
        *at = child->next;
        return child;
    }
    return NULL;
}

int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, bool tail)
{
    DeviceRuntime *runtime = parent->runtime;
    ChildList *list = tail ? &children->tail : &children->launched;
    pthread_mutex_lock(&children->lock);
    Child *child = take_open_locked(children, buffer);
    if (child) {
        memcpy(child->params, (const void *)(uintptr_t)buffer, child->function->param_size);
        child->next = NULL;
        *list->end = child;
        list->end = &child->next;
    }
    pthread_mutex_unlock(&children->lock);
    if (!child) return RUNTIME_INVALID_VALUE;
    device_heap_free(runtime->buffers(runtime->closure), buffer);
    return 0;
}

static int run_child(const Child *child, const GridLaunch *parent, WorkerPool *pool, ExecFault *fault)
{
    DeviceRuntime *runtime = parent->runtime;
    GridLaunch launch = *parent;
    launch.function = child->function;
    memcpy(launch.grid, child->shape.grid, sizeof launch.grid);
    memcpy(launch.block, child->shape.block, sizeof launch.block);
    launch.dynamic_shared = child->shape.shared;
    launch.params = child->params;
    launch.cooperative = false;
    launch.grid_id = runtime->next_grid_id(runtime->closure);
    launch.depth++;
    return grid_run(pool, &launch, fault);
}

static void run_list(ChildList *list, const GridLaunch *parent, WorkerPool *pool, ExecFault *fault)
{
    for (Child *child = list->first, *next; child; child = next) {
        next = child->next;
        atomic_fetch_sub(&parent->runtime->pending, 1);
        if (!fault->code) run_child(child, parent, pool, fault);
        free(child);
    }
}

static void drop_open(Children *children, DeviceRuntime *runtime)
{
    for (Child *child = children->open, *next; child; child = next) {
        next = child->next;
        device_heap_free(runtime->buffers(runtime->closure), child->buffer);
        atomic_fetch_sub(&runtime->pending, 1);
        free(child);
    }
}

int children_run(Children *children, const GridLaunch *parent, WorkerPool *pool, ExecFault *fault)
{
    drop_open(children, parent->runtime);
    run_list(&children->launched, parent, pool, fault);
    run_list(&children->tail, parent, pool, fault);
    return fault->code;
}
