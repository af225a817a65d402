/* See user_object.h. The destructor is called by the thread that drops the last reference, never under a
 * lock. As a host function it may make no driver calls. */
#include "graph/user_object.h"

#include <stdlib.h>

#include "graph/graph.h"

struct CUuserObject_st {
    Object object;
    _Atomic unsigned count; /* the program's references and those of graphs */
    CUhostFn destroy;
    void *data;
};

/* Drops `count` references. If none are left the destructor is called, and the handle becomes invalid. */
static void drop_references(UserObject *object, unsigned count)
{
    if (atomic_fetch_sub(&object->count, count) != count) return;
    bool before = driver_set_in_callback(true);
    object->destroy(object->data);
    driver_set_in_callback(before);
    object_retire(OBJECT(object));
}

bool user_references_copy(UserReferences *to, const UserReferences *from)
{
    *to = (UserReferences){0};
    if (!from->count) return true;
    to->list = malloc(from->count * sizeof *to->list);
    if (!to->list) return false;
    to->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        to->list[i] = from->list[i];
        object_hold(OBJECT(to->list[i].object));
        atomic_fetch_add(&to->list[i].object->count, to->list[i].count);
    }
    return true;
}

void user_references_drop(UserReferences *references)
{
    for (size_t i = 0; i < references->count; i++) {
        UserObject *object = references->list[i].object;
        if (references->list[i].count) drop_references(object, references->list[i].count);
        PUT(object);
    }
    free(references->list);
    *references = (UserReferences){0};
}

CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned int count,
                            unsigned int flags)
{
    TRY(driver_check());
    if (!out || !destroy || !count || count > INT32_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    UserObject *object = object_new(OBJECT_USER_OBJECT, sizeof *object, NULL, NULL);
    if (!object) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&object->count, count);
    object->destroy = destroy;
    object->data = data;
    CUresult result = object_publish(OBJECT(object));
    if (!result) *out = object;
    PUT(object);
    return result;
}

static CUresult enter_object(CUuserObject handle, unsigned count, UserObject **out)
{
    TRY(driver_check());
    if (!count || count > INT32_MAX) return CUDA_ERROR_INVALID_VALUE;
    *out = object_get(handle, OBJECT_USER_OBJECT);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    UserObject *object;
    TRY(enter_object(handle, count, &object));
    atomic_fetch_add(&object->count, count);
    PUT(object);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    UserObject *object;
    TRY(enter_object(handle, count, &object));
    bool valid = count <= atomic_load(&object->count);
    if (valid) drop_references(object, count);
    PUT(object);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The graph's entry for that object; NULL if it has none. */
static UserReference *reference_of(Graph *graph, const UserObject *object)
{
    for (size_t i = 0; i < graph->users.count; i++)
        if (graph->users.list[i].object == object) return &graph->users.list[i];
    return NULL;
}

static CUresult retain_in_graph(CUgraph handle, UserObject *object, unsigned count, bool move)
{
    Graph *graph = graph_of(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    UserReference *reference = reference_of(graph, object);
    if (!reference) {
        UserReferences *users = &graph->users;
        UserReference *list = realloc(users->list, (users->count + 1) * sizeof *list);
        if (!list) return CUDA_ERROR_OUT_OF_MEMORY;
        users->list = list;
        reference = &list[users->count++];
        *reference = (UserReference){object, 0};
        object_hold(OBJECT(object));
    }
    reference->count += count;
    if (!move) atomic_fetch_add(&object->count, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned int count, unsigned int flags)
{
    UserObject *object;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_object(handle, count, &object));
    CUresult result = WITH_GRAPHS(retain_in_graph(graph, object, count, flags & CU_GRAPH_USER_OBJECT_MOVE));
    PUT(object);
    return result;
}

static CUresult release_from_graph(CUgraph handle, const UserObject *object, unsigned count)
{
    Graph *graph = graph_of(handle);
    UserReference *reference = graph ? reference_of(graph, object) : NULL;
    if (!reference || reference->count < count) return CUDA_ERROR_INVALID_VALUE;
    reference->count -= count;
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned int count)
{
    UserObject *object;
    TRY(enter_object(handle, count, &object));
    CUresult result = WITH_GRAPHS(release_from_graph(graph, object, count));
    if (!result) drop_references(object, count);
    PUT(object);
    return result;
}
