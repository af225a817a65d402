#include "ext/wait.h"

#include <stdlib.h>
#include <time.h>

enum {
    SLICE_MICROSECONDS = 50000,      /* between two looks for signals */
    SPIN_MICROSECONDS = 5000,        /* then a poll sleeps: sleeping costs the end of a short wait too much */
    SLEEP_MOST_MICROSECONDS = 2000
};

/* What the driver offers, found out at the first wait. */
enum { UNKNOWN, POLLS, HAS_PATIENCE };

static bool has_patience(ModuleState *state)
{
    int known = atomic_load_explicit(&state->wait_mode, memory_order_relaxed);
    if (known == UNKNOWN) {
        known = DRIVER_HAS(cuPycudaSetPatience) && DRIVER_HAS(cuPycudaCancel) ? HAS_PATIENCE : POLLS;
        atomic_store(&state->wait_mode, known);
    }
    return known == HAS_PATIENCE;
}

bool wait_is_interruptible(const ModuleState *state)
{
    return PyThread_get_thread_ident() == state->main_thread && !ext_is_finalizing() && !context_forked();
}

static void set_patience(ModuleState *state, unsigned microseconds)
{
    CALL_QUIET(state, driver.cuPycudaSetPatience(microseconds));
}

/* ---- Drivers that can only be asked ---- */

static uint64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void pause_for(uint64_t elapsed)
{
    uint64_t length = elapsed / 64;
    if (elapsed < SPIN_MICROSECONDS) return;
    if (length > SLEEP_MOST_MICROSECONDS) length = SLEEP_MOST_MICROSECONDS;
    struct timespec moment = {0, (long)length * 1000};
    nanosleep(&moment, NULL);
}

IN_CALL static CUresult ask(const WaitPlace *place)
{
    return place->kind == WAIT_STREAM ? driver.cuStreamQuery(place->stream) : driver.cuEventQuery(place->event);
}

/* Asks until the place is idle, for one slice of a wait that began at `start`. */
IN_CALL static CUresult poll_slice(const WaitPlace *place, uint64_t start)
{
    uint64_t begin = microseconds(), now = begin;
    CUresult result = ask(place);
    while (result == CUDA_ERROR_NOT_READY && now - begin < SLICE_MICROSECONDS) {
        pause_for(now - start);
        result = ask(place);
        now = microseconds();
    }
    return result;
}

/* False with an exception when a signal ended it. Errors are left to the call that follows. */
static bool poll(const WaitPlace *place)
{
    CUresult result;
    uint64_t start = microseconds();
    do CALL_UNLOCKED(result, poll_slice(place, start));
    while (result == CUDA_ERROR_NOT_READY && PyErr_CheckSignals() == 0);
    return result != CUDA_ERROR_NOT_READY;
}

/* An event after all that is queued in the context now. Before CUDA 12.5 it stands in the default stream:
 * streams that take no turns with that one are left to the call that follows. */
IN_CALL static CUresult mark_context(CUevent *event)
{
    CUcontext context;
    CUresult result = driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) return result;
    result = driver.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS) result = driver.cuCtxRecordEvent(context, *event);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
        driver_problem();
        result = driver.cuEventRecord(*event, CU_STREAM_LEGACY);
    }
    if (result != CUDA_SUCCESS) driver.cuEventDestroy(*event);
    return result;
}

static bool poll_context(void)
{
    WaitPlace place = {.kind = WAIT_EVENT};
    CUresult result, ended;
    CALL_UNLOCKED(result, mark_context(&place.event));
    if (result != CUDA_SUCCESS) return true;
    bool idle = poll(&place);
    CALL_UNLOCKED(ended, driver.cuEventDestroy(place.event));
    (void)ended;
    return idle;
}

/* ---- Both ---- */

bool wait_begin(ModuleState *state, WaitPlace place, CUresult *result)
{
    if (!wait_is_interruptible(state)) return true;
    if (has_patience(state)) {
        set_patience(state, SLICE_MICROSECONDS);
        return true;
    }
    if (place.kind == WAIT_NOTHING) return true;
    if (place.kind == WAIT_CONTEXT ? poll_context() : poll(&place)) return true;
    atomic_store(&state->left_running, true);
    *result = CUDA_ERROR_NOT_READY;
    return false;
}

/* Nobody waits any more for what this thread waited for last. Who interrupts knows why it fails. */
static void cancel(ModuleState *state)
{
    CUresult result;
    atomic_store(&state->fault_shown, true);
    CALL_UNLOCKED(result, driver.cuPycudaCancel(0));
    (void)result;
}

bool wait_again(ModuleState *state, CUresult *result)
{
    if (!wait_is_interruptible(state) || !has_patience(state)) return false;
    set_patience(state, 0);
    if (*result != CUDA_ERROR_NOT_READY) return false;
    if (PyErr_CheckSignals() == 0) {
        set_patience(state, SLICE_MICROSECONDS);
        return true;
    }
    cancel(state);
    return false;
}

/* Called by the interpreter between two instructions of the main thread. */
static int raise_late(void *argument)
{
    ModuleState *state = argument;
    PyObject *exception = state->late_exception;
    state->late_exception = NULL;
    if (!exception) return 0;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

/* Takes the exception that is set, for raise_late. */
static void keep_exception(ModuleState *state)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    Py_XSETREF(state->late_exception, value);
    Py_AddPendingCall(raise_late, state);
}

void wait_begin_release(ModuleState *state)
{
    if (wait_is_interruptible(state) && has_patience(state)) set_patience(state, SLICE_MICROSECONDS);
}

bool wait_again_release(ModuleState *state, CUresult *result)
{
    PyObject *type, *value, *trace;
    if (!wait_is_interruptible(state) || !has_patience(state)) return false;
    set_patience(state, 0);
    if (*result != CUDA_ERROR_NOT_READY) return false;
    PyErr_Fetch(&type, &value, &trace);
    if (PyErr_CheckSignals() < 0) {
        keep_exception(state);
        cancel(state);
    }
    PyErr_Restore(type, value, trace);
    set_patience(state, SLICE_MICROSECONDS);
    return true;
}

/* ---- The end of the program ---- */

/* PYCUDA_EXIT_WAIT: seconds for what the program did not wait for. One that an exception has ended is in
 * more of a hurry. */
WaitLimit wait_limit(void)
{
    enum { USUAL_SECONDS = 10 };
    const char *text = getenv("PYCUDA_EXIT_WAIT");
    char *rest = NULL;
    double seconds = text && *text ? strtod(text, &rest) : USUAL_SECONDS;
    bool known = !rest || (!*rest && seconds >= 0);
    if (!known) {
        PySys_WriteStderr(
            "PYCUDA_EXIT_WAIT is \"%.100s\": it may be a number of seconds, 0 or more, or inf; %d is used\n",
            text, USUAL_SECONDS);
        seconds = USUAL_SECONDS;
    }
    PyObject *raised = PySys_GetObject("last_type"); /* borrowed */
    if (raised && raised != Py_None && seconds > 1) seconds = 1;
    double most = 1e9; /* inf is longer than anything */
    return (WaitLimit){seconds, microseconds() + (uint64_t)((seconds < most ? seconds : most) * 1e6)};
}

bool wait_is_over(const WaitLimit *limit) { return microseconds() >= limit->end; }

static CUresult wait_slice(ModuleState *state, const WaitPlace *place, uint64_t start)
{
    CUresult result;
    if (!has_patience(state)) {
        CALL_UNLOCKED(result, poll_slice(place, start));
        return result;
    }
    set_patience(state, SLICE_MICROSECONDS);
    CALL_UNLOCKED(result, driver.cuCtxSynchronize());
    set_patience(state, 0);
    return result;
}

CUresult wait_for_current(ModuleState *state, const WaitLimit *limit)
{
    WaitPlace place = {.kind = WAIT_EVENT};
    CUresult result = CUDA_SUCCESS;
    uint64_t start = microseconds();
    bool marked = !has_patience(state);
    if (marked) {
        CALL_UNLOCKED(result, mark_context(&place.event));
        if (result != CUDA_SUCCESS) return result;
    }
    do result = wait_slice(state, &place, start);
    while (result == CUDA_ERROR_NOT_READY && PyErr_CheckSignals() == 0 && !wait_is_over(limit));
    if (marked) CALL_QUIET(state, driver.cuEventDestroy(place.event));
    if (marked && result != CUDA_ERROR_NOT_READY) CALL_UNLOCKED(result, driver.cuCtxSynchronize());
    return result;
}

void wait_give_up(ModuleState *state, const WaitLimit *limit)
{
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (has_patience(state)) CALL_UNLOCKED(result, driver.cuPycudaCancel(1));
    bool ended = result == CUDA_SUCCESS;
    if (!ended) atomic_store(&state->given_up, true);
    atomic_store(&state->fault_shown, true);
    if (PyErr_Occurred()) return;
    PySys_WriteStderr(
        "pycuda: work that nobody waited for was still not done %g s after the end of the program: it is %s "
        "(PYCUDA_EXIT_WAIT sets the seconds)\n",
        limit->seconds, ended ? "cancelled" : "given up");
}

int wait_setup(PyObject *module, ModuleState *state)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    (void)module;
    if (ident) state->main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return PyErr_Occurred() ? -1 : 0;
}
