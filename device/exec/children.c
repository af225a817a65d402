/* The launches of one grid's threads: opened, launched, put into an order. */
#include "exec/children.h"

#include <stdlib.h>
#include <string.h>

#include "exec/runtime.h"
#include "exec/state.h"

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
    children->next_lane = 0;
    children->after_all = false;
    for (int k = 0; k < CHILD_LANES; k++) child_list_init(&children->lanes[k]);
    children->unfinished = 0;
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
    if (child) {
        *child = (Child){.function = function, .shape = *shape, .buffer = buffer};
        children_init(&child->own);
    } else if (buffer) {
        device_heap_free(heap, buffer);
    }
    return child;
}

uint64_t children_open(Children *children, const GridLaunch *parent, uint64_t function, const ChildShape *shape,
                       int *error)
{
    DeviceRuntime *runtime = parent->runtime;
    const CodeFunction *code = (const CodeFunction *)(uintptr_t)function;
    *error = runtime->accept(runtime->closure, code, shape->grid, shape->block, shape->shared);
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
    child->siblings = children;
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

static void launch_locked(Children *children, Child *child, ChildOrder order, uint64_t lane)
{
    bool tail = order == CHILD_TAIL;
    if (order == CHILD_FREE) lane = children->next_lane++;
    child->lane = tail ? 0 : (uint32_t)(lane % CHILD_LANES);
    child->after_all = tail || children->after_all;
    if (!tail) children->after_all = false;
    child_list_append(tail ? &children->tail : &children->launched, child);
}

int children_launch(Children *children, const GridLaunch *parent, uint64_t buffer, ChildOrder order,
                    uint64_t lane)
{
    DeviceRuntime *runtime = parent->runtime;
    pthread_mutex_lock(&children->lock);
    Child *child = take_open_locked(children, buffer);
    if (child) {
        memcpy(child->params, (const void *)(uintptr_t)buffer, child->function->param_size);
        launch_locked(children, child, order, lane);
    }
    pthread_mutex_unlock(&children->lock);
    if (!child) return RUNTIME_INVALID_VALUE;
    device_heap_free(runtime->buffers(runtime->closure), buffer);
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
        device_heap_free(runtime->buffers(runtime->closure), child->buffer);
        atomic_fetch_sub(&runtime->pending, 1);
        free(child);
    }
    children->open = NULL;
}
