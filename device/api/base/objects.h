/* The driver's objects and how their handles are checked.
 *
 * A handle is the address of an object in the registry of live objects. A call that works with an object
 * holds a reference. Destroying an object takes it out of the registry at once; the last reference releases
 * its resources. The addresses of the objects that died last are not used again yet, so that stale handles
 * are recognized.
 *
 * An object has a reference to its context, which may be read for as long, even if it is closed. A context
 * that is opened again is another one for its old objects: Object.life differs from the context's id.
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
    unsigned long long life; /* the context's id when the object was made: a reopened one has another */
    Object *chain; /* next in its bucket of the registry */
    void (*release)(Object *self); /* frees what the object holds, but not itself; may be NULL */
};

/* Allocates an object of that many bytes, zeroed, with the caller's reference; not in the registry yet. */
void *object_new(ObjectKind kind, size_t size, Context *context, void (*release)(Object *self));
/* Whether the object was made in that context, and the context was not closed since, even if it is open
 * again. */
bool object_is_of(const Object *object, const Context *context);
/* Whether the object's context is live, and was not closed since the object was made. */
bool object_context_is_live(const Object *object);
/* Enters the object into the registry, which holds a reference: from now on its handle is valid. An error if
 * out of memory, or when its context closes. */
CUresult object_publish(Object *object);
/* The live object of that kind with a new reference, or NULL. The handle may be any value. */
void *object_get(const void *handle, ObjectKind kind);
/* Adds a reference; returns the object. */
Object *object_hold(Object *object);
/* Releases a reference; the last one calls `release` and frees the object. NULL: nothing is done. */
void object_put(Object *object);
/* Takes the object out of the registry and puts the registry's reference. True for the caller that did it,
 * false if it was out already. */
bool object_retire(Object *object);
/* Retires all live objects of a context. */
void object_retire_context(const Context *context);

/* Of a pointer to a type that begins with the member `object`. */
#define OBJECT(pointer) (&(pointer)->object)
#define PUT(pointer) object_put(OBJECT(pointer))

#endif
