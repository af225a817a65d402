/* See owner.h. */
#include "ext/context/owner.h"

#include "ext/base/errors.h"

static PyObject *new_owner(ModuleState *state, PyTypeObject *type)
{
    PyObject *self = type->tp_alloc(type, 0);
    if (!self) return NULL;
    owner_cast(self)->state = state;
    atomic_init(&owner_cast(self)->freed, true);
    return self;
}

PyObject *owner_new(ModuleState *state, PyTypeObject *type)
{
    PyObject *self = new_owner(state, type);
    if (self && !(owner_cast(self)->context = context_hold_current(state))) Py_CLEAR(self);
    return self;
}

PyObject *owner_new_in(ContextObject *context, PyTypeObject *type)
{
    PyObject *self = new_owner(context->state, type);
    if (self) owner_cast(self)->context = context_hold(context);
    return self;
}

PyObject *owner_finish(PyObject *self, CUresult result, const char *routine, atomic_long *live)
{
    if (result == CUDA_SUCCESS) return owner_own(self, live);
    raise_driver(owner_cast(self)->state, result, routine, NULL);
    Py_DECREF(self);
    return NULL;
}

bool owner_release(PyObject *self, destructor release)
{
    if (atomic_exchange(&owner_cast(self)->freed, true)) return false;
    deferred_free(owner_cast(self)->state, release, self);
    return true;
}

bool owner_dealloc_begin(PyObject *self, destructor dealloc, destructor release)
{
    OwnerObject *owner = owner_cast(self);
    if (PyType_IS_GC(Py_TYPE(self))) PyObject_GC_UnTrack(self);
    if (owner->weak_references) PyObject_ClearWeakRefs(self);
    if (deferred_dealloc(owner->state, dealloc, self)) return false;
    owner_release(self, release);
    if (owner->context) context_drop(owner->context);
    return true;
}

void owner_dealloc_end(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}
