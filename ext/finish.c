/* The end of a program, while the interpreter still exists: queued work runs, compilations end, deferred
 * releases are made. */
#include <time.h>

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/code/compilation.h"
#include "ext/context/context.h"
#include "ext/context/keep_alive.h"

/* Waits for the work of the current context, if there is one: a program may end without waiting for its
 * kernels. So their output is printed, and their error, if any, is reported. CUDA_ERROR_NOT_READY when the
 * limit was reached. */
static CUresult finish_current(ModuleState *state, const WaitLimit *limit)
{
    CUcontext current = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &current); /* makes no context if there is none */
    if (result != CUDA_SUCCESS || !current) return CUDA_SUCCESS;
    result = wait_for_current(state, limit);
    if (result != CUDA_ERROR_NOT_READY) report_driver_at_exit(state, result, "cuCtxSynchronize");
    return result;
}

/* Waits for the work of this module's contexts, as later releases in them wait without a limit. False when
 * the limit was reached. */
static bool finish_own(ModuleState *state, const WaitLimit *limit)
{
    ContextObject *context = NULL, *next;
    bool done = true;
    while (done && (next = context_next_own(state, context))) {
        ContextScope scope;
        Py_XDECREF((PyObject *)context);
        context = next;
        if (!context_enter_scope(context, &scope)) continue;
        done = wait_for_current(state, limit) != CUDA_ERROR_NOT_READY;
        context_leave_scope(&scope);
    }
    Py_XDECREF((PyObject *)context);
    return done;
}

/* Called at exit, while the interpreter still exists. Waits for the contexts' work, and for the host
 * functions that are queued by now: those that daemon threads go on queuing belong to the next generation
 * (ModuleState). */
static PyObject *finish(PyObject *module, PyObject *Py_UNUSED(none))
{
    static const struct timespec poll_interval = {.tv_nsec = 1000000};
    ModuleState *state = module_state(module);
    WaitLimit limit = wait_limit();
    if (forked_after_init() || atomic_load(&state->given_up)) Py_RETURN_NONE;
    atomic_long *outstanding = &state->host_generations[state->host_generation++ % 2];
    bool done = finish_current(state, &limit) != CUDA_ERROR_NOT_READY && finish_own(state, &limit);
    while (done && atomic_load(outstanding) > 0) {
        keep_alive_collect(state);
        WITHOUT_GIL(nanosleep(&poll_interval, NULL));
        done = PyErr_CheckSignals() == 0 && !wait_is_over(&limit);
    }
    if (!done) wait_give_up(state, &limit);
    deferred_release(state);
    report_kept_fault(state);
    compilation_finish(state);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

PyMethodDef finish_functions[] = {
    {"_finish", finish, METH_NOARGS,
     "_finish()\n--\n\n"
     "Wait for the work of the program's contexts, and for the functions of\n"
     "Stream.launch_host_func."},
    {NULL, NULL, 0, NULL},
};
