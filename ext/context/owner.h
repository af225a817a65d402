/* What all objects have in common that own something of the driver's in a context: they keep the context
 * alive, and release what they own once, in it, from any thread and at any time. */
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
    atomic_bool freed; /* it owns nothing: not yet, or no more */

typedef struct OwnerObject {
    OWNER_HEAD
} OwnerObject;

static inline OwnerObject *owner_cast(PyObject *object) { return (OwnerObject *)object; }

/* An object of this type, in the current context or in this one, that owns nothing yet. NULL with an
 * exception. */
PyObject *owner_new(ModuleState *state, PyTypeObject *type);
PyObject *owner_new_in(ContextObject *context, PyTypeObject *type);

/* The call that makes what it owns gave this result. Success: it owns that, and is counted. Else the
 * reference to it is dropped, and an exception raised unless there is one. Returns what a constructor
 * does. */
PyObject *owner_finish(PyObject *self, CUresult result, const char *routine, atomic_long *live);

/* It owns something from now on. Returns it. */
static inline PyObject *owner_own(PyObject *self, atomic_long *live)
{
    gil_count(live, 1);
    atomic_store(&owner_cast(self)->freed, false);
    return self;
}

/* Releases what it owns, now or as soon as that may be done (deferred.h). False when it owns nothing. */
bool owner_release(PyObject *self, destructor release);

/* Around what a tp_dealloc does with the object's other members. begin: false when dealloc is called again
 * later, else what it owned is released and its context is not held anymore. */
bool owner_dealloc_begin(PyObject *self, destructor dealloc, destructor release);
void owner_dealloc_end(PyObject *self);
/* All of a tp_dealloc. */
static inline void owner_dealloc(PyObject *self, destructor dealloc, destructor release)
{
    if (owner_dealloc_begin(self, dealloc, release)) owner_dealloc_end(self);
}

/* once_name or end_name in this context, unless that is gone. A failure is reported. */
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
