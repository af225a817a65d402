/* See captured.h. */
#include "ext/context/captured.h"

#include "ext/errors.h"

void captured_open(ModuleState *state, Captured *captured)
{
    captured->next = state->captured;
    captured->culprit = NULL;
    state->captured = captured;
}

void captured_close(ModuleState *state, Captured *captured)
{
    Captured **link = &state->captured;
    while (*link && *link != captured) link = &(*link)->next;
    if (*link) *link = captured->next;
}

/* The capture that the stream takes part in: its id, NONE, BROKEN for one that can only end in an error, or
 * LEGACY for the legacy stream when a stream is captured that is ordered with it. */
enum { NONE = 0 };
#define BROKEN ((unsigned long long)-1)
#define LEGACY ((unsigned long long)-2)

static unsigned long long capture_of(ModuleState *state, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = NONE;
    CUresult result;
    CALL_NEAR(state, result, driver.cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return LEGACY;
    if (result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE) return NONE;
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : BROKEN;
}

bool captured_holds(ModuleState *state, CUstream stream)
{
    return captured_some(state) && capture_of(state, stream) != NONE;
}

bool captured_is(ModuleState *state, CUstream stream)
{
    unsigned long long id = captured_some(state) ? capture_of(state, stream) : NONE;
    return id != NONE && id != LEGACY;
}

PyObject *captured_before(ModuleState *state, CUstream stream)
{
    const Captured *captured = state->captured;
    while (captured && captured->stream != stream) captured = captured->next;
    return captured ? Py_XNewRef(captured->before) : NULL;
}

void captured_exchange_mode(ModuleState *state, CaptureMode *mode)
{
    CUresult result;
    CALL_NEAR(state, result, driver.cuThreadExchangeStreamCaptureMode(&mode->mode));
    if (result != CUDA_SUCCESS) mode->changed = false;
}

unsigned long captured_new_edition(void)
{
    static atomic_ulong editions;
    return atomic_fetch_add(&editions, 1) + 1;
}

int captured_new(KeptObjects *kept)
{
    *kept = (KeptObjects){PyDict_New(), captured_new_edition()};
    return kept->dict ? 0 : -1;
}

int captured_own(KeptObjects *kept)
{
    if (Py_REFCNT(kept->dict) == 1) return 0;
    PyObject *shared = kept->dict, *own = PyDict_Copy(shared);
    if (!own) return -1;
    *kept = (KeptObjects){own, captured_new_edition()};
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
    unsigned long long id = capture_of(state, stream);
    if (id == NONE || id == LEGACY) return 0;
    Captured *captured = state->captured;
    while (captured && captured->id != id) captured = captured->next;
    if (!captured) return 1;
    KeptObjects *kept = captured->kept;
    PyObject *graph = Py_NewRef(captured->graph);
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
    for (Captured *captured = state->captured; captured && by_capture; captured = captured->next)
        if (!captured->culprit) captured->culprit = routine;
}
