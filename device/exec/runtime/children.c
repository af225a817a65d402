/* The launches of one grid's threads: opened, launched, queued. */
#include "exec/runtime/children.h"

#include <stdlib.h>
#include <string.h>

#include "exec/runtime/runtime.h"

void child_list_init(ChildList *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void child_list_append(ChildList *list, Child *child)
{
    child->next = NULL;
    *list->end = child;
    list->end = &child->next;
}

Child *child_list_take(ChildList *list)
{
    Child *child = list->first;
    if (child && !(list->first = child->next)) list->end = &list->first;
    return child;
}

void children_init(Children *children)
{
    children->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    children->open = NULL;
    child_list_init(&children->launched);
    child_list_init(&children->tail);
    children->next_queue = 0;
    children->after_all = false;
    for (int k = 0; k < CHILD_QUEUES; k++) child_list_init(&children->queues[k]);
    children->unfinished = 0;
}

/* Counts one more launch; false when there are too many already. */
static bool count_pending(DeviceRuntime *runtime)
{
    if (atomic_fetch_add(&runtime->pending, 1) < runtime->max_pending) return true;
    atomic_fetch_sub(&runtime->pending, 1);
    return false;
}

/* A new child with a buffer of so many bytes, counted as pending. */
static Child *child_new(Children *children, DeviceRuntime *runtime, size_t size, int *error)
{
    *error = RUNTIME_TOO_MANY_PENDING;
    if (!count_pending(runtime)) return NULL;
    Child *child = aligned_alloc(PARAMS_ALIGN, params_room(sizeof *child + size));
    if (!child) {
        *error = RUNTIME_OUT_OF_MEMORY;
        atomic_fetch_sub(&runtime->pending, 1);
        return NULL;
    }
    *child = (Child){.siblings = children, .size = (uint32_t)size};
    children_init(&child->own);
    *error = 0;
    return child;
}

/* Frees a launch that will not run. */
static void child_drop(Child *child, DeviceRuntime *runtime)
{
    if (child->buffer) device_heap_free(runtime->buffers(runtime->closure), child->buffer);
    atomic_fetch_sub(&runtime->pending, 1);
    free(child);
}

/* A new child with a buffer of that size in device memory; NULL, with *error set, if that is not possible. */
static Child *open_new(Children *children, DeviceRuntime *runtime, size_t size, int *error)
{
    DeviceHeap *heap = runtime->buffers(runtime->closure);
    Child *child = child_new(children, runtime, size, error);
    if (!child) return NULL;
    child->buffer = heap ? device_heap_alloc(heap, size ? size : 1, 16) : 0;
    if (child->buffer) return child;
    *error = RUNTIME_TOO_MANY_PENDING;
    child_drop(child, runtime);
    return NULL;
}

/* Adds the child to the open ones. Returns its buffer, read before another thread could launch it. */
static uint64_t put_open(Children *children, Child *child)
{
    pthread_mutex_lock(&children->lock);
    child->next = children->open;
    children->open = child;
    pthread_mutex_unlock(&children->lock);
    return child->buffer;
}

/* Checks a launch. Returns 0, with the kernel's code in *code, or the error. */
static int check_call(const DeviceRuntime *runtime, const ChildCall *call, const CodeFunction **code)
{
    const ChildShape *shape = &call->shape;
    *code = (const CodeFunction *)(uintptr_t)call->function;
    return runtime->accept(runtime->closure, *code, shape->grid, shape->block, shape->shared);
}

uint64_t children_open(Children *children, const GridLaunch *parent, const ChildCall *call, int *error)
{
    const CodeFunction *code;
    *error = check_call(parent->runtime, call, &code);
    if (*error) return 0;
    Child *child = open_new(children, parent->runtime, code->param_size, error);
    if (!child) return 0;
    child->function = code;
    child->shape = call->shape;
    return put_open(children, child);
}

uint64_t children_reserve(Children *children, const GridLaunch *parent, uint64_t align, uint64_t size,
                          int *error)
{
    enum { MAX_SIZE = 4096, MAX_ALIGN = 64 };
    *error = RUNTIME_INVALID_VALUE;
    if (size > MAX_SIZE || align > MAX_ALIGN) return 0;
    Child *child = open_new(children, parent->runtime, (size_t)(size > align ? size : align), error);
    return child ? put_open(children, child) : 0;
}

/* Takes the open launch with that buffer out of the list. has_function: true if it must have been opened
 * with a kernel, false if it must have been opened without. NULL when there is none. */
static Child *take_open_locked(Children *children, uint64_t buffer, bool has_function)
{
    for (Child **at = &children->open; *at; at = &(*at)->next) {
        Child *child = *at;
        if (child->buffer != buffer || !child->function == has_function) continue;
        *at = child->next;
        return child;
    }
    return NULL;
}

static void launch_locked(Children *children, Child *child, ChildOrder order, uint64_t queue)
{
    bool tail = order == CHILD_TAIL;
    if (order == CHILD_FREE) queue = children->next_queue++;
    child->queue = tail ? 0 : (uint32_t)(queue % CHILD_QUEUES);
    child->after_all = tail || children->after_all;
    if (!tail) children->after_all = false;
    child_list_append(tail ? &children->tail : &children->launched, child);
}

static void put_launched(Children *children, Child *child, ChildOrder order, uint64_t queue)
{
    pthread_mutex_lock(&children->lock);
    launch_locked(children, child, order, queue);
    pthread_mutex_unlock(&children->lock);
}

int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, const ChildCall *call,
                    ChildOrder order, uint64_t queue)
{
    DeviceRuntime *runtime = parent->runtime;
    const CodeFunction *code = NULL;
    int error = call ? check_call(runtime, call, &code) : 0;
    if (error) return error;
    pthread_mutex_lock(&children->lock);
    Child *child = take_open_locked(children, buffer, !call);
    pthread_mutex_unlock(&children->lock);
    if (!child) return RUNTIME_INVALID_VALUE;
    if (call) {
        child->function = code;
        child->shape = call->shape;
    }
    if (child->function->param_size > child->size) {
        child_drop(child, runtime);
        return RUNTIME_INVALID_VALUE;
    }
    memcpy(child->params, (const void *)(uintptr_t)buffer, child->function->param_size);
    device_heap_free(runtime->buffers(runtime->closure), buffer);
    put_launched(children, child, order, queue);
    return 0;
}

int children_transfer(Children *children, const GridLaunch *parent, const Transfer *transfer,
                      ChildOrder order, uint64_t queue)
{
    int error;
    Child *child = child_new(children, parent->runtime, sizeof *transfer, &error);
    if (!child) return error;
    memcpy(child->params, transfer, sizeof *transfer);
    put_launched(children, child, order, queue);
    return 0;
}

void children_wait(Children *children)
{
    pthread_mutex_lock(&children->lock);
    children->after_all = true;
    pthread_mutex_unlock(&children->lock);
}

void children_drop_open(Children *children, DeviceRuntime *runtime)
{
    for (Child *child = children->open, *next; child; child = next) {
        next = child->next;
        child_drop(child, runtime);
    }
    children->open = NULL;
}
