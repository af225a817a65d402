/* See wait.h. */
#include "ext/base/wait.h"

#include "ext/base/driver_calls.h"
#include "ext/base/section.h"

#include <stdlib.h>

#include "core/poll.h"

/* ModuleState.wait_mode: how a signal can end a wait for this driver. */
enum {
    UNKNOWN,     /* no wait has asked the driver yet */
    POLLS,       /* the work is polled before the call */
    HAS_TIMEOUTS /* the call returns after a timeout */
};

static bool has_timeouts(ModuleState *state)
{
    int known = atomic_load_explicit(&state->wait_mode, memory_order_relaxed);
    if (known == UNKNOWN) {
        CUresult result = CUDA_ERROR_NOT_FOUND;
        if (DRIVER_HAS(cuPycudaSetTimeout) && DRIVER_HAS(cuPycudaCancel))
            result = try_cuPycudaSetTimeout(state, 0);
        known = result == CUDA_SUCCESS ? HAS_TIMEOUTS : POLLS;
        atomic_store(&state->wait_mode, known);
    }
    return known == HAS_TIMEOUTS;
}

bool wait_is_interruptible(const ModuleState *state)
{
    return PyThread_get_thread_ident() == state->main_thread && !ext_is_finalizing() && !forked_after_init();
}

static void set_timeout(ModuleState *state, unsigned microseconds)
{
    once_cuPycudaSetTimeout(state, microseconds);
}

/* ---- Drivers that can only be asked ---- */

/* CUDA_ERROR_NOT_READY with an exception when a signal ended it. */
static CUresult poll(ModuleState *state, PollPlace place)
{
    CUresult result;
    uint64_t start = poll_microseconds();
    do CALL_CORE(state, result, BLOCKS_ONCE, poll_slice(place, start));
    while (result == CUDA_ERROR_NOT_READY && PyErr_CheckSignals() == 0);
    return result;
}

static CUresult record_in_context(ModuleState *state, CUcontext context, CUevent event)
{
    CUresult result = once_cuCtxRecordEvent(state, context, event);
    if (result != CUDA_ERROR_NOT_SUPPORTED) return result;
    driver_problem(); /* clears the note that this function is missing */
    return once_cuEventRecord(state, event, CU_STREAM_LEGACY);
}

/* Makes an event, the caller's to destroy, and records it after all work queued in the current context. The
 * event serves one wait: a kept one would outlive its context. Before CUDA 12.5 it is recorded on the default
 * stream; for streams that do not wait for that one the driver call after the polling waits. */
static CUresult record_new_in_context(ModuleState *state, CUevent *event)
{
    CUcontext context = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &context);
    if (result == CUDA_SUCCESS && !context) result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) result = once_cuEventCreate(state, event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) return result;
    result = record_in_context(state, context, *event);
    if (result != CUDA_SUCCESS) once_cuEventDestroy(state, *event);
    return result;
}

void wait_drop_event(ModuleState *state, CUresult before, CUevent event)
{
    CUresult result = once_cuEventDestroy(state, event);
    if (before == CUDA_SUCCESS || before == CUDA_ERROR_NOT_READY)
        report_driver(state, result, "cuEventDestroy");
}

static CUresult poll_context(ModuleState *state)
{
    CUevent event;
    CUresult result = record_new_in_context(state, &event);
    if (result != CUDA_SUCCESS) return result;
    result = poll(state, (PollPlace){.kind = POLL_EVENT, .event = event});
    wait_drop_event(state, result, event);
    return result;
}

/* Whether nothing was queued here since all work of the context was waited for. */
static bool is_known_idle(const ModuleState *state, const WaitPlace *place)
{
    return place->context && place->begin == state->idle_begin && place->context == state->idle_context;
}

/* If the queue is full, polls until its polled event is reached. False when a signal ended that: *result is
 * CUDA_ERROR_NOT_READY. Any failure of the polling is left for the call itself to report. */
static bool poll_queue(ModuleState *state, WaitPlace *place, CUresult *result)
{
    PolledEvent polled;
    if (!queue_take_event(state, place->stream, &polled)) return true;
    bool reached =
        poll(state, (PollPlace){.kind = POLL_EVENT_RELAXED, .event = polled.event}) != CUDA_ERROR_NOT_READY;
    queue_return_event(state, &polled, reached);
    if (!reached) *result = CUDA_ERROR_NOT_READY;
    return reached;
}

static PollPlace poll_place(const WaitPlace *place)
{
    return (PollPlace){place->kind == WAIT_STREAM ? POLL_STREAM : POLL_EVENT, place->stream, place->event};
}

/* Polls until the work is done. True when the driver's call is to be made: the work is done, or the thread
 * has no context, which the caller can make. If false *result is what the call would have returned. */
static bool poll_work(ModuleState *state, WaitPlace *place, CUresult *result)
{
    if (is_known_idle(state, place)) return true;
    *result = place->kind == WAIT_CONTEXT ? poll_context(state) : poll(state, poll_place(place));
    if (*result == CUDA_SUCCESS) place->surely = true;
    return *result == CUDA_SUCCESS || CALL_WANTS_CONTEXT(*result);
}

/* ---- Copies ---- */

/* *waits: whether the driver waits for the stream before it copies: it does if the host memory is not
 * page-locked, unless the stream is under capture. The driver knows no memory type of such host memory. */
static CUresult ask_for_copy(ModuleState *state, const void *host, CUstream stream, bool *waits)
{
    unsigned type = 0;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    void *answers[] = {&type};
    CUresult result = try_cuPointerGetAttributes(state, 1, &attribute, answers, (CUdeviceptr)(uintptr_t)host);
    if (result == CUDA_SUCCESS && !type) result = try_cuStreamIsCapturing(state, stream, &status);
    *waits = result == CUDA_SUCCESS && !type && status == CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
}

WaitPlace wait_for_copy(ModuleState *state, const void *host, CUstream stream)
{
    bool waits = false;
    WaitPlace place = ON_QUEUE(stream, 1);
    if (!wait_is_interruptible(state) || has_timeouts(state)) return place;
    CUresult result = ask_for_copy(state, host, stream, &waits);
    if (result == CUDA_SUCCESS && waits) place.kind = WAIT_STREAM;
    return place;
}

/* Whether the driver may wait for the stream before it fills this memory or copies it within the device. It
 * may if the memory is managed, the host's, or unknown to it. */
static bool may_wait_within_device(ModuleState *state, CUdeviceptr address)
{
    unsigned type = 0, managed = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *answers[] = {&type, &managed};
    CUresult result = try_cuPointerGetAttributes(state, 2, attributes, answers, address);
    return result != CUDA_SUCCESS || type != CU_MEMORYTYPE_DEVICE || managed;
}

WaitPlace wait_within_device(ModuleState *state, CUdeviceptr to, CUdeviceptr from)
{
    if (wait_is_interruptible(state) && !has_timeouts(state)
        && ((to && may_wait_within_device(state, to)) || (from && may_wait_within_device(state, from))))
        return AFTER_STREAM(NULL);
    return ON_QUEUE(NULL, 1);
}

int wait_after_copy(ModuleState *state, CUstream stream, CUresult result, const char *routine)
{
    if (result == CUDA_SUCCESS) {
        routine = "cuStreamSynchronize";
        result = once_cuStreamSynchronize(state, stream);
    }
    return raise_unless(state, result, routine);
}

/* ---- Both ---- */

bool wait_begin(ModuleState *state, WaitPlace *place, CUresult *result)
{
    *result = CUDA_ERROR_NOT_READY;
    if (place->calls && queue_count(state, place->stream, place->calls) < 0) return false;
    if (place->kind > WAIT_QUEUE) {
        place->begin = queue_begin_wait(state);
        try_cuCtxGetCurrent(state, &place->context);
    }
    if (!wait_is_interruptible(state)) return true;
    if (has_timeouts(state)) {
        set_timeout(state, POLL_SLICE_MICROSECONDS);
        return true;
    }
    if (place->kind == WAIT_NOTHING) return true;
    bool may_call =
        place->kind == WAIT_QUEUE ? poll_queue(state, place, result) : poll_work(state, place, result);
    if (!may_call && *result == CUDA_ERROR_NOT_READY) atomic_store(&state->left_running, true);
    return may_call;
}

void wait_end(ModuleState *state, const WaitPlace *place, CUresult result)
{
    if (result != CUDA_SUCCESS || !place->surely || !place->context) return;
    if (place->kind == WAIT_STREAM) queue_end_wait(state, place->context, place->stream, place->begin);
    if (place->kind != WAIT_CONTEXT) return;
    queue_end_wait(state, place->context, QUEUE_ALL_STREAMS, place->begin);
    state->idle_begin = place->begin;
    state->idle_context = place->context;
}

/* Cancels what this thread waited for last. The fault that this gives is not shown: the program that
 * interrupted the work knows why later calls fail. */
static void cancel(ModuleState *state)
{
    atomic_store(&state->fault_shown, true);
    state->fault_before = true;
    once_cuPycudaCancel(state, 0);
}

bool wait_again(ModuleState *state, CUresult *result)
{
    if (!wait_is_interruptible(state) || !has_timeouts(state)) return false;
    set_timeout(state, 0);
    if (*result != CUDA_ERROR_NOT_READY) return false;
    if (PyErr_CheckSignals() == 0) {
        set_timeout(state, POLL_SLICE_MICROSECONDS);
        return true;
    }
    cancel(state);
    return false;
}

/* Called by the interpreter between two instructions of the main thread. */
static int raise_late(void *argument)
{
    ModuleState *state = argument;
    PyObject *exception;
    SECTION_BEGIN();
    exception = state->late_exception;
    state->late_exception = NULL;
    SECTION_END();
    if (!exception) return 0;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

/* Takes the exception that is set, and lets raise_late raise it. */
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
    if (wait_is_interruptible(state) && has_timeouts(state)) set_timeout(state, POLL_SLICE_MICROSECONDS);
}

bool wait_again_release(ModuleState *state, CUresult *result)
{
    PyObject *type, *value, *trace;
    if (!wait_is_interruptible(state) || !has_timeouts(state)) return false;
    set_timeout(state, 0);
    if (*result != CUDA_ERROR_NOT_READY) return false;
    PyErr_Fetch(&type, &value, &trace);
    if (PyErr_CheckSignals() < 0) {
        keep_exception(state);
        cancel(state);
    }
    PyErr_Restore(type, value, trace);
    set_timeout(state, POLL_SLICE_MICROSECONDS);
    return true;
}

CUresult wait_for_release(ModuleState *state, const char **routine)
{
    CUdeviceptr memory;
    *routine = "cuMemAlloc";
    CUresult result = once_cuMemAlloc(state, &memory, 1);
    if (result == CUDA_SUCCESS) {
        *routine = "cuMemFree";
        result = end_cuMemFree(state, memory);
    } else if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        *routine = "cuCtxSynchronize";
        result = end_cuCtxSynchronize(state);
    }
    return result;
}

/* ---- The end of the program ---- */

/* PYCUDA_EXIT_WAIT: the seconds that work may take which the program did not wait for. A program that Ctrl-C
 * has ended waits for a second at most. */
WaitLimit wait_limit(void)
{
    enum { USUAL_SECONDS = 10 };
    const char *text = getenv("PYCUDA_EXIT_WAIT");
    double seconds = text && *text ? strtod(text, NULL) : USUAL_SECONDS; /* the text was checked by init() */
    PyObject *raised = PySys_GetObject("last_type"); /* borrowed */
    if (raised == PyExc_KeyboardInterrupt && seconds > 1) seconds = 1;
    double max_seconds = 1e9, microseconds = 1e6; /* inf does not fit into an integer */
    double used = seconds < max_seconds ? seconds : max_seconds;
    return (WaitLimit){seconds, poll_microseconds() + (uint64_t)(used * microseconds)};
}

bool wait_is_over(const WaitLimit *limit) { return poll_microseconds() >= limit->end; }

/* Waits for the current context for one slice. event: the one to poll if the driver has no timeouts. Each
 * call of the driver waits for what is queued when it begins, and daemon threads may go on queuing: so that
 * one call can see the end of its work, the slices grow with the wait since `start`. */
static CUresult wait_slice(ModuleState *state, CUevent event, uint64_t start)
{
    enum { MAX_MICROSECONDS = 2000000 };
    CUresult result;
    uint64_t slice = poll_microseconds() - start;
    if (!has_timeouts(state)) {
        CALL_CORE(state, result, BLOCKS_ONCE,
                  poll_slice((PollPlace){.kind = POLL_EVENT, .event = event}, start));
        return result;
    }
    if (slice < POLL_SLICE_MICROSECONDS) slice = POLL_SLICE_MICROSECONDS;
    set_timeout(state, slice < MAX_MICROSECONDS ? (unsigned)slice : MAX_MICROSECONDS);
    result = once_cuCtxSynchronize(state);
    set_timeout(state, 0);
    return result;
}

CUresult wait_for_current(ModuleState *state, const WaitLimit *limit)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t start = poll_microseconds();
    bool polls = !has_timeouts(state);
    CUevent event = NULL;
    if (polls) {
        result = record_new_in_context(state, &event);
        if (result != CUDA_SUCCESS) return result;
    }
    do result = wait_slice(state, event, start);
    while (result == CUDA_ERROR_NOT_READY && PyErr_CheckSignals() == 0 && !wait_is_over(limit));
    if (polls) once_cuEventDestroy(state, event);
    if (polls && result != CUDA_ERROR_NOT_READY) result = once_cuCtxSynchronize(state);
    return result;
}

void wait_give_up(ModuleState *state, const WaitLimit *limit)
{
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (has_timeouts(state)) result = once_cuPycudaCancel(state, 1);
    bool ended = result == CUDA_SUCCESS;
    if (!ended) atomic_store(&state->given_up, true);
    atomic_store(&state->fault_shown, true);
    if (PyErr_Occurred()) return;
    PySys_WriteStderr("pycuda: unfinished work was still running %g s after the end of the program: it is %s "
                      "(PYCUDA_EXIT_WAIT sets the seconds)\n",
                      limit->seconds, ended ? "canceled" : "given up");
}

/* The `ident` of threading.main_thread(). NULL with an exception. */
static PyObject *ident_by_threading(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return ident;
}

/* What ident_by_threading() would give, without importing threading, which takes longer than most modules of
 * this package: before Python 3.13 the main thread is to it the one that imports it. NULL with an exception.
 */
static PyObject *ident_without_threading(void)
{
    PyObject *thread = PyImport_ImportModule("_thread");
    bool knows = thread && PyObject_HasAttrString(thread, "_get_main_thread_ident");
    const char *function = knows ? "_get_main_thread_ident" : "get_ident";
    PyObject *ident = thread ? PyObject_CallMethod(thread, function, NULL) : NULL;
    Py_XDECREF(thread);
    return ident;
}

int wait_setup(PyObject *module, ModuleState *state)
{
    bool is_imported = PyDict_GetItemString(PyImport_GetModuleDict(), "threading") != NULL;
    PyObject *ident = is_imported ? ident_by_threading() : ident_without_threading();
    (void)module;
    if (ident) state->main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    return PyErr_Occurred() ? -1 : 0;
}
