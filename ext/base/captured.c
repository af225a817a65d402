/* See captured.h. */
#include "ext/base/captured.h"

#include "ext/base/driver_calls.h"

void captured_open(ModuleState *state, Captured *captured)
{
    captured->next = state->captured;
    captured->refused_call = NULL;
    state->captured = captured;
}

bool captured_close(ModuleState *state, Captured *captured)
{
    Captured **link = &state->captured;
    while (*link && *link != captured) link = &(*link)->next;
    if (!*link) return false;
    *link = captured->next;
    return true;
}

unsigned long long captured_query(ModuleState *state, CUstream stream, CUgraph *graph)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUresult result = once_cuStreamGetCaptureInfo(state, stream, &status, &id, graph, NULL, NULL, NULL);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return CAPTURED_LEGACY;
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : CAPTURED_BROKEN;
}

bool captured_holds(ModuleState *state, CUstream stream)
{
    return captured_some(state) && captured_query(state, stream, NULL) != 0;
}

bool captured_is(ModuleState *state, CUstream stream)
{
    unsigned long long id = captured_some(state) ? captured_query(state, stream, NULL) : 0;
    return id != 0 && id != CAPTURED_LEGACY;
}

PyObject *captured_before(ModuleState *state, CUstream stream)
{
    const Captured *captured = state->captured;
    while (captured && captured->stream != stream) captured = captured->next;
    return captured ? Py_XNewRef(captured->before) : NULL;
}

CUresult captured_wait_for_context(ModuleState *state, const char **routine)
{
    CaptureMode mode;
    CUresult result;
    if (captured_some(state)) {
        captured_relax(state, &mode);
        result = wait_for_release(state, routine);
        captured_restore(state, &mode);
        return result;
    }
    *routine = "cuCtxSynchronize";
    result = try_cuCtxSynchronize(state);
    return result;
}

void captured_relax_any(ModuleState *state, CaptureMode *mode)
{
    CUresult result;
    *mode = (CaptureMode){.changed = false};
    CALL_CORE(state, result, ASKS_ONCE, capture_mode_relax(mode));
    report_driver(state, result, "cuThreadExchangeStreamCaptureMode");
}

void captured_restore_any(ModuleState *state, CaptureMode *mode)
{
    CUresult result;
    CALL_CORE(state, result, ASKS_ONCE, capture_mode_restore(mode));
    report_driver(state, result, "cuThreadExchangeStreamCaptureMode");
}

void captured_relax(ModuleState *state, CaptureMode *mode)
{
    *mode = (CaptureMode){.changed = false};
    if (captured_some(state)) captured_relax_any(state, mode);
}

void captured_restore(ModuleState *state, CaptureMode *mode)
{
    if (mode->changed) captured_restore_any(state, mode);
}

unsigned long captured_new_version(void)
{
    static atomic_ulong versions;
    return atomic_fetch_add(&versions, 1) + 1;
}

int captured_new(KeptObjects *kept)
{
    *kept = (KeptObjects){PyDict_New(), captured_new_version()};
    return kept->dict ? 0 : -1;
}

int captured_own(KeptObjects *kept)
{
    if (Py_REFCNT(kept->dict) == 1) return 0;
    PyObject *shared = kept->dict, *own = PyDict_Copy(shared);
    if (!own) return -1;
    *kept = (KeptObjects){own, captured_new_version()};
    Py_DECREF(shared);
    return 0;
}

int captured_put(KeptObjects *kept, PyObject *object)
{
    PyObject *key = PyLong_FromVoidPtr(object);
    int status = key && captured_own(kept) == 0 ? PyDict_SetItem(kept->dict, key, object) : -1;
    Py_XDECREF(key);
    return status;
}

int captured_keep_objects(ModuleState *state, CUstream stream, PyObject *const *objects, Py_ssize_t count)
{
    if (!captured_close_ended(state)) return 0;
    unsigned long long id = captured_query(state, stream, NULL);
    if (id == 0 || id == CAPTURED_LEGACY) return 0;
    Captured *captured = state->captured;
    while (captured && captured->id != id) captured = captured->next;
    if (!captured) return 1; /* a capture that was not noticed has no dict */
    KeptObjects *kept = captured->kept;
    PyObject *graph = Py_NewRef(captured->graph); /* keeps `kept` if Python code ends the capture meanwhile */
    int status = 1;
    for (Py_ssize_t i = 0; i < count && status == 1; i++)
        if (objects[i] && captured_put(kept, objects[i]) < 0) status = -1;
    Py_DECREF(graph);
    return status;
}

void captured_note_failure(ModuleState *state, CUresult result, const char *routine)
{
    bool by_capture =
        result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (!by_capture || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) return;
    for (Captured *captured = state->captured; captured; captured = captured->next) {
        if (captured->refused_call) continue;
        captured->refused_call = routine;
        captured->refusal = result;
        captured->refused_thread = PyThread_get_thread_ident();
    }
}

void captured_describe_end(const ModuleState *state, const Captured *captured, char *text, size_t size)
{
    static const char advice[] = "the default stream, which waits for blocking streams: capture a stream "
                                 "made with stream_flags.NON_BLOCKING";
    for (const Captured *each = state->captured; each && !captured; each = each->next)
        if (each->refused_call) captured = each;
    if (!captured || !captured->refused_call) {
        snprintf(text, size, "a call outside of pycuda invalidated the capture, maybe by using %s", advice);
        return;
    }
    bool here = captured->refused_thread == PyThread_get_thread_ident();
    bool implicit = captured->refusal == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    snprintf(text, size, "%s%s%s%s", captured->refused_call,
             here ? " could not be captured" : " in another thread invalidated the capture",
             implicit ? ": it uses " : "", implicit ? advice : "");
}
