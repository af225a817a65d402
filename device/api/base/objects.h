/* The driver's objects and how their handles are checked.
 *
 * A handle is the address of an object that is in the registry of live objects. A call that works with an
 * object holds a reference: destroying takes the object out of the registry at once, its resources go with
 * the last reference, and the addresses of the most recently dead are not used again for a while, so that
 * stale handles are distinguished from live ones. An object keeps its context from being forgotten, dead or
 * alive, so that it can always be asked; what the context releases when it closes, its objects find gone
 * (`life`).
 */
#ifndef DEVICE_API_BASE_OBJECTS_H
#define DEVICE_API_BASE_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi/cuda_abi.h"

typedef struct CUctx_st Context;
typedef struct CUstream_st Stream;
typedef struct CUevent_st Event;
typedef struct CUmod_st Module;
typedef struct CUfunc_st Function;
typedef struct CUlib_st Library;
typedef struct CUarray_st Array;
typedef struct CUmemPoolHandle_st Pool;
typedef struct CUlinkState_st Linker;

typedef enum ObjectKind {
    OBJECT_STREAM,
    OBJECT_GREEN_CONTEXT,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_FUNCTION,
    OBJECT_LIBRARY,
    OBJECT_KERNEL,
    OBJECT_ARRAY,
    OBJECT_MIPMAPPED_ARRAY,
    OBJECT_POOL,
    OBJECT_LINKER,
    OBJECT_TEXTURE,
    OBJECT_SURFACE,
    OBJECT_TEXTURE_REFERENCE,
    OBJECT_SURFACE_REFERENCE,
    OBJECT_GRAPHICS,
    OBJECT_GRAPH,
    OBJECT_GRAPH_NODE,
    OBJECT_GRAPH_EXEC,
    OBJECT_USER_OBJECT,
    OBJECT_PHYSICAL,
    OBJECT_EXTERNAL_MEMORY,
    OBJECT_EXTERNAL_SEMAPHORE,
    OBJECT_NOTIFICATION
} ObjectKind;

typedef struct Object Object;
struct Object {
    ObjectKind kind;
    _Atomic unsigned references;
    bool live;                     /* in the registry */
    Context *context;              /* a reference; NULL: belongs to the process */
    unsigned long long life;       /* the id that the context had: it gets another when it is reopened */
    Object *chain;                 /* next in its bucket of the registry */
    void (*release)(Object *self); /* frees what it holds, not the object; may be NULL */
};

/* Allocates an object of that many bytes, zeroed, with the caller's reference; not in the registry yet. */
void *object_new(ObjectKind kind, size_t size, Context *context, void (*release)(Object *self));
/* Whether the object was made in that context, and the context was not closed since, even if it is open
 * again. */
bool object_is_of(const Object *object, const Context *context);
/* As object_is_of(), of the object's own context, which must be live as well. */
bool object_in_life(const Object *object);
/* Enters the object into the registry, which holds a reference: from now on its handle is valid. An error if
 * out of memory, or when its context closes. */
CUresult object_publish(Object *object);
/* The live object of that kind with a new reference, or NULL. */
void *object_get(const void *handle, ObjectKind kind);
Object *object_hold(Object *object);
void object_put(Object *object);
/* Takes the object out of the registry and puts the registry's reference. True for the caller that did it,
 * false if it was out already. */
bool object_retire(Object *object);
/* Retires all live objects of a context. */
void object_retire_context(const Context *context);

#define OBJECT(pointer) (&(pointer)->object)
#define PUT(pointer) object_put(OBJECT(pointer))

#endif
