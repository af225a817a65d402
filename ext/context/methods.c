/* The Python class Context. Most methods act on the current context and not on the instance they are called
 * on, as PyCUDA's static methods do: they are class methods here. */

#include "ext/base/constants.h"
#include "ext/base/types.h"
#include "ext/context/device.h"
#include "ext/context/keep_alive.h"
#include "ext/context/resource.h"
#include "ext/convert/driver_method.h"

static ModuleState *state_of_class(PyObject *cls) { return state_of_type((PyTypeObject *)cls); }

/* ---- The stack ---- */

PyDoc_STRVAR(push_doc, "push($self)\n--\n\n"
                       "Make this context current in the calling thread, on top of its stack.\n\n"
                       "May be repeated, in any thread.\n"
                       "\nRaises\n------\n"
                       "LogicError\n    After detach().\n"
                       "\nNotes\n-----\n"
                       "Calls cuCtxPushCurrent.");

static PyObject *context_push(PyObject *self, PyObject *Py_UNUSED(none))
{
    return none_unless(context_stack_push(context_cast(self)));
}

PyDoc_STRVAR(pop_doc, "pop($type)\n--\n\n"
                      "Remove the top of the calling thread's stack; the context below becomes current.\n"
                      "\nRaises\n------\n"
                      "LogicError\n    The stack is empty.\n"
                      "\nNotes\n-----\n"
                      "Calls cuCtxPopCurrent.");

static PyObject *context_pop(PyObject *cls, PyObject *Py_UNUSED(none))
{
    return none_unless(context_stack_pop(state_of_class(cls)));
}

PyDoc_STRVAR(detach_doc,
             "detach($self)\n--\n\n"
             "Give the context up.\n\n"
             "One made by Device.make_context is destroyed with everything in it, a primary one is\n"
             "released as soon as nothing made through it remains. If it was current, the next one\n"
             "on the stack becomes current.\n"
             "\nRaises\n------\n"
             "LogicError\n    The second time.\n"
             "\nNotes\n-----\n"
             "Calls cuCtxDestroy, cuDevicePrimaryCtxRelease, cuGreenCtxDestroy.");

static PyObject *context_detach_py(PyObject *self, PyObject *Py_UNUSED(none))
{
    return none_unless(context_detach(context_cast(self)));
}

/* `with device.make_context():` does not push again what make_context has pushed: the end of the block undoes
 * that push. This holds only while nothing was made in the context: a program that has used it without `with`
 * expects it to stay current after a later block. */
static PyObject *context_enter_py(PyObject *self, PyObject *Py_UNUSED(none))
{
    ContextObject *context = context_cast(self);
    if (context->fresh && atomic_load(&context->resources) == 0 && context_stack_is_top(context)) {
        context->fresh = false;
        return Py_NewRef(self);
    }
    return context_stack_push(context_cast(self)) < 0 ? NULL : Py_NewRef(self);
}

static PyObject *context_exit_py(PyObject *self, PyObject *Py_UNUSED(args))
{
    ContextObject *context = context_cast(self);
    if (atomic_load(&context->detached)) return Py_NewRef(Py_None);
    if (!context_stack_is_top(context))
        return raise_driver(context->state, CUDA_ERROR_INVALID_CONTEXT, "context::pop",
                            "another context is current at the end of the with block");
    return none_unless(context_stack_pop(context->state));
}

PyDoc_STRVAR(get_current_doc,
             "get_current($type)\n--\n\n"
             "Return the calling thread's current context, even if other code made it current.\n"
             "\nReturns\n-------\n"
             "Context or None\n"
             "\nNotes\n-----\n"
             "Calls cuCtxGetCurrent.");

static PyObject *context_get_current(PyObject *cls, PyObject *Py_UNUSED(none))
{
    ModuleState *state = state_of_class(cls);
    CUcontext handle = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &handle);
    if (result == CUDA_ERROR_NOT_INITIALIZED && !forked_after_init()) return Py_NewRef(Py_None);
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuCtxGetCurrent", NULL);
    return handle ? (PyObject *)context_current(state) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(attach_doc, "attach($type, flags=0)\n--\n\n"
                         "Return the current context; for programs written for CUDA 2.\n"
                         "\nParameters\n----------\n"
                         "flags : int\n    Ignored.\n"
                         "\nReturns\n-------\n"
                         "Context");

static PyObject *context_attach(PyObject *cls, FAST_PARAMETERS)
{
    PyObject *ignored;
    return READ_ARGUMENTS(attach_doc, INTO(&ignored)) < 0 ? NULL
                                                          : (PyObject *)context_current(state_of_class(cls));
}

/* ---- Of the current context ---- */

#define CALL(...) DRIVER_METHOD(ModuleState *state = state_of_class(self), __VA_ARGS__)
#define ASK(...) DRIVER_METHOD_OF_NOTHING(ModuleState *state = state_of_class(self), __VA_ARGS__)
#include "ext/context/context_calls.def"

PyDoc_STRVAR(synchronize_doc, "synchronize($type)\n--\n\n"
                              "Wait until all work in the current context is done.\n"
                              "\nRaises\n------\n"
                              "LaunchError, LogicError\n    Work failed.\n"
                              "\nNotes\n-----\n"
                              "Calls cuCtxSynchronize.");

static PyObject *context_synchronize(PyObject *cls, PyObject *Py_UNUSED(none))
{
    ModuleState *state = state_of_class(cls);
    ContextObject *context = state->kept ? context_current(state) : NULL;
    if (PyErr_Occurred()) return NULL;
    struct KeepBatch *kept = context ? keep_alive_take(state, context, KEEP_ALIVE_ALL) : NULL;
    CUresult result = try_cuCtxSynchronize(state);
    keep_alive_finish(state, kept, result == CUDA_SUCCESS);
    Py_XDECREF((PyObject *)context);
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuCtxSynchronize", NULL);
    return PyErr_CheckSignals() < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- Of this context ---- */

PyDoc_STRVAR(get_api_version_doc, "get_api_version($self)\n--\n\n"
                                  "Read the version of the interface that made this context.\n"
                                  "\nReturns\n-------\n"
                                  "int\n"
                                  "\nNotes\n-----\n"
                                  "Calls cuCtxGetApiVersion.");

static PyObject *context_get_api_version(PyObject *self, PyObject *Py_UNUSED(none))
{
    ContextObject *context = context_cast(self);
    unsigned version;
    if (!context_check(context, "cuCtxGetApiVersion")) return NULL;
    CUresult result = once_cuCtxGetApiVersion(context->state, context->handle, &version);
    return result == CUDA_SUCCESS ? PyLong_FromUnsignedLong(version)
                                  : raise_driver(context->state, result, "cuCtxGetApiVersion", NULL);
}

static PyObject *context_compare(PyObject *left, PyObject *right, int operation)
{
    bool alike = PyObject_TypeCheck(right, context_cast(left)->state->Context_type);
    return type_compare(alike, alike && context_cast(left)->handle == context_cast(right)->handle, operation);
}

static Py_hash_t context_hash(PyObject *self)
{
    Py_hash_t hash = (Py_hash_t)((uintptr_t)context_cast(self)->handle >> 4);
    return hash == -1 ? -2 : hash;
}

static PyObject *context_repr(PyObject *self)
{
    static const char *const kinds[] = {[CONTEXT_OWNED] = "own",
                                        [CONTEXT_PRIMARY] = "primary",
                                        [CONTEXT_FOREIGN] = "foreign",
                                        [CONTEXT_GREEN] = "green"};
    ContextObject *context = context_cast(self);
    return PyUnicode_FromFormat("<pycuda.driver.Context %s of device %d at %p%s>",
                                kinds[atomic_load(&context->kind)], (int)context->device,
                                (void *)context->handle, atomic_load(&context->detached) ? ", detached" : "");
}

PyObject *context_repr_of(PyObject *object, const ContextObject *context, const void *handle,
                          const char *more)
{
    return PyUnicode_FromFormat("<%s of device %d at %p%s>", Py_TYPE(object)->tp_name, (int)context->device,
                                handle, more);
}

#define OF_CLASS(name, flags) {#name, AS_METHOD(context_##name), (flags) | METH_CLASS, name##_doc}
static PyMethodDef context_methods[] = {
    {"push", context_push, METH_NOARGS, push_doc},
    {"detach", context_detach_py, METH_NOARGS, detach_doc},
    {"get_resource", AS_METHOD(context_get_resource), FAST_KEYWORDS, context_get_resource_doc},
    {"get_api_version", context_get_api_version, METH_NOARGS, get_api_version_doc},
    {"__enter__", context_enter_py, METH_NOARGS,
     "__enter__($self)\n--\n\n"
     "Push the context.\n"
     "\nReturns\n-------\n"
     "Context"},
    {"__exit__", context_exit_py, METH_VARARGS,
     "__exit__($self, *exception)\n--\n\n"
     "Pop the context."},
    OF_CLASS(pop, METH_NOARGS),
    OF_CLASS(get_current, METH_NOARGS),
    OF_CLASS(attach, FAST_KEYWORDS),
    OF_CLASS(synchronize, METH_NOARGS),
    OF_CLASS(enable_peer_access, FAST_KEYWORDS),
    OF_CLASS(disable_peer_access, FAST_KEYWORDS),
#define CALL(name, ...) {#name, AS_METHOD(name), FAST_KEYWORDS | METH_CLASS, name##_doc},
#define ASK(name, ...) {#name, name, METH_NOARGS | METH_CLASS, name##_doc},
#include "ext/context/context_calls.def"
    {NULL, NULL, 0, NULL},
};

static PyMemberDef context_members[] = {
    {"handle", T_ULONGLONG, offsetof(ContextObject, handle), READONLY, "The CUcontext as an int."},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(context_doc,
             "What a process has on a device: memory, modules, streams. Made by Device.make_context and\n"
             "Device.retain_primary_context. `with context:` makes it current for the block.\n\n"
             "Everything made in a context keeps it alive. Contexts are equal when their handles are.");

const TypeSpec Context_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Context", ContextObject, Py_TPFLAGS_BASETYPE, context_doc),
    .tp_dealloc = context_dealloc,
    .tp_repr = context_repr,
    .tp_hash = context_hash,
    .tp_richcompare = context_compare,
    TYPE_TABLES(context_methods, NULL, context_members),
};

int context_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    state->make_default_context = context_make_default;
    return 0;
}
