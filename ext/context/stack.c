/* PyCUDA's stack of contexts, one a thread, of which the driver sees only the top as current.
 *
 * It is a list in the thread's own dict, so it goes with the thread, quietly. Its first item is what was
 * current before the first push, a Context or None, and becomes current again after the last pop. While the
 * stack is empty there is no list.
 */
#include "ext/context/context.h"

#include "ext/base/driver_calls.h"

/* This thread's stack, borrowed; NULL without an exception when it is empty. */
static PyObject *get_stack(ModuleState *state)
{
    PyObject *thread = PyThreadState_GetDict();
    return thread ? PyDict_GetItem(thread, state->str__pycuda_context_stack) : NULL;
}

/* The first item of a new stack, a new reference. NULL with an exception. */
static PyObject *get_base(ModuleState *state)
{
    CUcontext handle = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &handle);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_INITIALIZED)
        return raise_driver(state, result, "cuCtxGetCurrent", NULL);
    return handle ? (PyObject *)context_current(state) : Py_NewRef(Py_None);
}

/* This thread's stack, made if it is empty; borrowed. NULL with an exception. */
static PyObject *need_stack(ModuleState *state)
{
    PyObject *stack = get_stack(state), *thread = PyThreadState_GetDict();
    if (stack) return stack;
    PyObject *base = get_base(state);
    stack = base ? PyList_New(1) : NULL;
    if (!stack || !thread) {
        Py_XDECREF(base);
        Py_XDECREF(stack);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    PyList_SET_ITEM(stack, 0, base);
    if (PyDict_SetItem(thread, state->str__pycuda_context_stack, stack) < 0) Py_CLEAR(stack);
    Py_XDECREF(stack);      /* the dict has it */
    return stack;
}

static void drop_stack(ModuleState *state)
{
    PyObject *thread = PyThreadState_GetDict();
    if (thread && PyDict_DelItem(thread, state->str__pycuda_context_stack) < 0) PyErr_Clear();
}

static int set_current(ModuleState *state, CUcontext handle, const char *routine)
{
    return raise_unless(state, try_cuCtxSetCurrent(state, handle), routine);
}

/* Whether an item of the stack, a Context or None, can no longer be made current. */
static bool is_detached(PyObject *item)
{
    return item == Py_None || atomic_load(&context_cast(item)->detached)
           || atomic_load(&context_cast(item)->dead);
}

/* Removes detached contexts from the top of the stack, and makes the top current. If only the first item is
 * left, what was current before the first push becomes current, and the stack ends. -1 with an exception. */
static int activate_top(ModuleState *state)
{
    PyObject *stack = get_stack(state);
    Py_ssize_t size = stack ? PyList_GET_SIZE(stack) : 0;
    while (size > 1 && is_detached(PyList_GET_ITEM(stack, size - 1))) {
        if (PyList_SetSlice(stack, size - 1, size, NULL) < 0) return -1;
        size--;
    }
    PyObject *top = size ? PyList_GET_ITEM(stack, size - 1) : Py_None;
    int status = set_current(state, is_detached(top) ? NULL : context_cast(top)->handle, "cuCtxSetCurrent");
    if (size == 1) drop_stack(state);
    return status;
}

int context_stack_push(ContextObject *context)
{
    ModuleState *state = context->state;
    if (is_detached((PyObject *)context)) {
        raise_driver(state, CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent", "the context was detached");
        return -1;
    }
    /* In a forked child no stack is made: set_current() raises. */
    PyObject *stack = forked_after_init() ? get_stack(state) : need_stack(state);
    if (!stack && PyErr_Occurred()) return -1;
    if (set_current(state, context->handle, "cuCtxPushCurrent") < 0
        || PyList_Append(stack, (PyObject *)context) < 0) {
        if (stack && PyList_GET_SIZE(stack) == 1) drop_stack(state);
        return -1;
    }
    context->fresh = false;
    return 0;
}

int context_stack_pop(ModuleState *state)
{
    PyObject *stack = get_stack(state);
    Py_ssize_t size = stack ? PyList_GET_SIZE(stack) : 0;
    if (size < 2) {
        raise_driver(state, CUDA_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent",
                     "cannot pop: no context was pushed on this thread's stack");
        return -1;
    }
    if (PyList_SetSlice(stack, size - 1, size, NULL) < 0) return -1;
    return activate_top(state);
}

int context_stack_forget(ContextObject *context)
{
    return forked_after_init() ? 0 : activate_top(context->state);
}

bool context_stack_is_used(ModuleState *state) { return get_stack(state) != NULL; }

bool context_stack_top_is_detached(ModuleState *state)
{
    PyObject *stack = get_stack(state);
    Py_ssize_t size = stack ? PyList_GET_SIZE(stack) : 0;
    return size > 1 && is_detached(PyList_GET_ITEM(stack, size - 1));
}

bool context_stack_is_top(ContextObject *context)
{
    PyObject *stack = get_stack(context->state);
    Py_ssize_t size = stack ? PyList_GET_SIZE(stack) : 0;
    return size > 1 && PyList_GET_ITEM(stack, size - 1) == (PyObject *)context;
}
