/* See wait.h. */
#include "ext/wait.h"

#include <stdlib.h>
#include <time.h>

#include "core/capture_mode.h"

enum {
    SLICE_MICROSECONDS = 50000,      /* between two looks for signals */
    SPIN_MICROSECONDS = 5000, /* then a poll sleeps: sleeping costs the end of a short wait too much */
    SLEEP_MOST_MICROSECONDS = 2000
};

/* What the driver offers, found out at the first wait. */
enum { UNKNOWN, POLLS, HAS_PATIENCE };

static bool has_patience(ModuleState *state)
{
    int known = atomic_load_explicit(&state->wait_mode, memory_order_relaxed);
    if (known == UNKNOWN) {
        CUresult result = CUDA_ERROR_NOT_FOUND;
        if (DRIVER_HAS(cuPycudaSetPatience) && DRIVER_HAS(cuPycudaCancel))
            CALL_NEAR(state, result, driver.cuPycudaSetPatience(0));
        known = result == CUDA_SUCCESS ? HAS_PATIENCE : POLLS;
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

/* A mark is nobody's business: no capture of others is to end because of it. */
IN_CALL static CUresult ask_mark(CUevent mark)
{
    CaptureMode mode;
    (void)capture_mode_relax(&mode);
    CUresult result = driver.cuEventQuery(mark);
    (void)capture_mode_restore(&mode);
    return result;
}

IN_CALL static CUresult ask(const WaitPlace *place)
{
    return place->kind == WAIT_STREAM ? driver.cuStreamQuery(place->stream)
           : place->kind == WAIT_ROOM ? ask_mark(place->event)
                                      : driver.cuEventQuery(place->event);
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

/* CUDA_ERROR_NOT_READY with an exception when a signal ended it. */
static CUresult poll(const WaitPlace *place)
{
    CUresult result;
    uint64_t start = microseconds();
    do CALL_UNLOCKED(result, poll_slice(place, start));
    while (result == CUDA_ERROR_NOT_READY && PyErr_CheckSignals() == 0);
    return result;
}

IN_CALL static CUresult record_mark(CUcontext context, CUevent event)
{
    CUresult result = driver.cuCtxRecordEvent(context, event);
    if (result != CUDA_ERROR_NOT_SUPPORTED) return result;
    driver_problem();
    return driver.cuEventRecord(event, CU_STREAM_LEGACY);
}

/* An event after all that is queued in the context now, for this wait alone: one that is kept would outlive
 * its context. Before CUDA 12.5 it stands in the default stream: streams that take no turns with that one are
 * left to the call that follows. */
IN_CALL static CUresult mark_context(CUevent *event)
{
    CUcontext context = NULL;
    CUresult result = driver.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS && !context) result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) result = driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) return result;
    result = record_mark(context, *event);
    if (result != CUDA_SUCCESS) driver.cuEventDestroy(*event);
    return result;
}

static CUresult poll_context(ModuleState *state)
{
    CUevent mark;
    CUresult result;
    CALL_UNLOCKED(result, mark_context(&mark));
    if (result != CUDA_SUCCESS) return result;
    result = poll(&ON_EVENT(mark));
    CALL_DROPPED(state, result, "cuEventDestroy", driver.cuEventDestroy(mark));
    return result;
}

/* Whether nothing was queued here since all work of the context was waited for. */
static bool is_known_idle(const ModuleState *state, const WaitPlace *place)
{
    return place->context && place->begin == state->idle_begin && place->context == state->idle_context;
}

/* Whatever asking for the mark says but that it is not reached, the call is to say itself. */
static bool poll_room(ModuleState *state, WaitPlace *place, CUresult *result)
{
    RoomMark mark;
    if (!room_take_mark(state, place->stream, &mark)) return true;
    place->event = mark.event;
    bool reached = poll(place) != CUDA_ERROR_NOT_READY;
    room_put_mark(state, &mark, reached);
    if (!reached) *result = CUDA_ERROR_NOT_READY;
    return reached;
}

/* What asking says of the work is what the call would say of it, but the call can make a context. */
static bool poll_work(ModuleState *state, WaitPlace *place, CUresult *result)
{
    if (is_known_idle(state, place)) return true;
    *result = place->kind == WAIT_CONTEXT ? poll_context(state) : poll(place);
    if (*result == CUDA_SUCCESS) place->surely = true;
    return *result == CUDA_SUCCESS || CALL_WANTS_CONTEXT(*result);
}

/* ---- Copies ---- */

/* Whether it is memory that the driver does not know, and a stream whose work is done now and not when a
 * graph is launched. */
IN_CALL static CUresult ask_for_copy(const void *host, CUstream stream, bool *waits)
{
    unsigned type = 0;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    void *answers[] = {&type};
    CUresult result = driver.cuPointerGetAttributes(1, &attribute, answers, (CUdeviceptr)(uintptr_t)host);
    if (result == CUDA_SUCCESS && !type) result = driver.cuStreamIsCapturing(stream, &status);
    *waits = result == CUDA_SUCCESS && !type && status == CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
}

WaitPlace wait_for_copy(ModuleState *state, const void *host, CUstream stream)
{
    CUresult result;
    bool waits = false;
    WaitPlace place = ON_ROOM(stream, 1);
    if (!wait_is_interruptible(state) || has_patience(state)) return place;
    CALL(state, result, ask_for_copy(host, stream, &waits));
    if (result == CUDA_SUCCESS && waits) place.kind = WAIT_STREAM;
    return place;
}

/* ---- Both ---- */

bool wait_begin(ModuleState *state, WaitPlace *place, CUresult *result)
{
    *result = CUDA_ERROR_NOT_READY;
    if (place->calls && room_count(state, place->stream, place->calls) < 0) return false;
    if (place->kind > WAIT_ROOM) {
        place->begin = room_begin_wait(state);
        CALL_QUIET(state, driver.cuCtxGetCurrent(&place->context));
    }
    if (!wait_is_interruptible(state)) return true;
    if (has_patience(state)) {
        set_patience(state, SLICE_MICROSECONDS);
        return true;
    }
    if (place->kind == WAIT_NOTHING) return true;
    bool made = place->kind == WAIT_ROOM ? poll_room(state, place, result) : poll_work(state, place, result);
    if (!made && *result == CUDA_ERROR_NOT_READY) atomic_store(&state->left_running, true);
    return made;
}

void wait_end(ModuleState *state, const WaitPlace *place, CUresult result)
{
    if (result != CUDA_SUCCESS || !place->surely || !place->context) return;
    if (place->kind == WAIT_STREAM) room_end_wait(state, place->context, place->stream, place->begin);
    if (place->kind != WAIT_CONTEXT) return;
    room_end_wait(state, place->context, ROOM_ALL_STREAMS, place->begin);
    state->idle_begin = place->begin;
    state->idle_context = place->context;
}

/* Nobody waits any more for what this thread waited for last. Who interrupts knows why it fails. */
static void cancel(ModuleState *state)
{
    CUresult result;
    atomic_store(&state->fault_shown, true);
    state->fault_before = true;
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

CUresult wait_for_release(ModuleState *state, const char **routine)
{
    CUdeviceptr memory;
    CUresult result;
    *routine = "cuMemAlloc";
    CALL_UNLOCKED(result, driver.cuMemAlloc(&memory, 1));
    if (result == CUDA_SUCCESS) {
        *routine = "cuMemFree";
        CALL_RELEASING(state, result, driver.cuMemFree(memory));
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *routine = "cuCtxSynchronize";
        CALL_RELEASING(state, result, driver.cuCtxSynchronize());
    }
    return result;
}

/* ---- The end of the program ---- */

/* PYCUDA_EXIT_WAIT: seconds for what the program did not wait for. One that Ctrl-C has ended is in more
 * of a hurry. */
WaitLimit wait_limit(void)
{
    enum { USUAL_SECONDS = 10 };
    const char *text = getenv("PYCUDA_EXIT_WAIT");
    double seconds = text && *text ? strtod(text, NULL) : USUAL_SECONDS; /* checked by init */
    PyObject *raised = PySys_GetObject("last_type"); /* borrowed */
    if (raised == PyExc_KeyboardInterrupt && seconds > 1) seconds = 1;
    double most = 1e9; /* inf is longer than anything */
    return (WaitLimit){seconds, microseconds() + (uint64_t)((seconds < most ? seconds : most) * 1e6)};
}

bool wait_is_over(const WaitLimit *limit) { return microseconds() >= limit->end; }

/* Each call of the driver waits for what is queued when it begins. Daemon threads may go on queuing: so that
 * one call sees the end of that, the slices grow with the wait. */
static CUresult wait_slice(ModuleState *state, const WaitPlace *place, uint64_t start)
{
    enum { LONGEST_MICROSECONDS = 2000000 };
    CUresult result;
    uint64_t slice = microseconds() - start;
    if (!has_patience(state)) {
        CALL_UNLOCKED(result, poll_slice(place, start));
        return result;
    }
    if (slice < SLICE_MICROSECONDS) slice = SLICE_MICROSECONDS;
    set_patience(state, slice < LONGEST_MICROSECONDS ? (unsigned)slice : LONGEST_MICROSECONDS);
    CALL_UNLOCKED(result, driver.cuCtxSynchronize());
    set_patience(state, 0);
    return result;
}

CUresult wait_for_current(ModuleState *state, const WaitLimit *limit)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t start = microseconds();
    bool marked = !has_patience(state);
    WaitPlace place = {.kind = WAIT_EVENT};
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
    PySys_WriteStderr("pycuda: unfinished work was still running %g s after the end of the program: it is %s "
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
