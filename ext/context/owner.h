/* What all objects that own a driver resource in a context have in common. They keep the context alive. They
 * release the resource once, in that context, from any thread and at any time. */
#ifndef EXT_CONTEXT_OWNER_H
#define EXT_CONTEXT_OWNER_H

#include "ext/base/deferred.h"
#include "ext/context/context.h"

/* The weak references first, as in PointerHolderBase. */
#define OWNER_HEAD \
    PyObject_HEAD \
    PyObject *weak_references; \
    ModuleState *state; \
    ContextObject *context; /* held */ \
    atomic_bool freed; /* the object owns no resource: not yet, or no more */

typedef struct OwnerObject {
    OWNER_HEAD
} OwnerObject;

static inline OwnerObject *owner_cast(PyObject *object) { return (OwnerObject *)object; }

/* A new object of this type that holds the current context and owns nothing yet. NULL with an exception. */
PyObject *owner_new(ModuleState *state, PyTypeObject *type);
/* As owner_new(), in the given context. */
PyObject *owner_new_in(ContextObject *context, PyTypeObject *type);

/* Called after the driver call that makes the resource, with its result. Success: the object owns the
 * resource, is counted in *live and returned. Failure: drops the reference to the object, sets an exception
 * unless one is set, and returns NULL. */
PyObject *owner_finish(PyObject *self, CUresult result, const char *routine, atomic_long *live);

/* Notes that the object owns its resource from now on, and counts it in *live. Returns the object. */
static inline PyObject *owner_own(PyObject *self, atomic_long *live)
{
    gil_count(live, 1);
    atomic_store(&owner_cast(self)->freed, false);
    return self;
}

/* Releases the resource, now or as soon as that may be done (deferred.h). False when the object owns none. */
bool owner_release(PyObject *self, destructor release);

/* The beginning and the end of a tp_dealloc, which releases the object's other members between them.
 * owner_dealloc_begin() releases the resource and drops the context. It is false when that has to wait: then
 * the caller returns, and dealloc is called again later. */
bool owner_dealloc_begin(PyObject *self, destructor dealloc, destructor release);
void owner_dealloc_end(PyObject *self);
/* All of a tp_dealloc, for objects without other members. */
static inline void owner_dealloc(PyObject *self, destructor dealloc, destructor release)
{
    if (owner_dealloc_begin(self, dealloc, release)) owner_dealloc_end(self);
}

/* Calls once_name or end_name, as `attempt` says, in this context, unless that is gone. A failure is
 * reported. */
#define RELEASE_IN_CONTEXT(owners_context, attempt, name, ...) \
    do { \
        ContextObject *context_ = (owners_context); \
        ContextScope scope_; \
        if (context_enter_scope(context_, &scope_)) { \
            CUresult result_ = attempt##_##name(context_->state, __VA_ARGS__); \
            context_leave_scope(&scope_); \
            report_driver(context_->state, result_, #name); \
        } \
    } while (0)

#endif
