/* Captures that others begin. See captured.h.
 *
 * What captured work uses is kept by a user object of the graph, which goes on with what is instantiated of
 * the graph. Its destruction is reported by a thread of the driver, which may make no calls and may not wait:
 * another thread releases the objects.
 */
#include "ext/base/captured.h"

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"

/* A capture that other code began. A capsule owns it, to which there are two references: of the list of
 * captures, and of the graph's user object. */
typedef struct ForeignCapture {
    Captured captured;
    KeptObjects kept;
    PyObject *stream; /* owned, so that the driver can be asked about the stream */
    unsigned long round; /* the last round of captured_close_ended() that asked about this capture */
} ForeignCapture;

static const char capsule_name[] = "pycuda._driver.ForeignCapture";

static void free_capture(PyObject *capsule)
{
    ForeignCapture *capture = PyCapsule_GetPointer(capsule, capsule_name);
    Py_XDECREF(capture->kept.dict);
    Py_XDECREF(capture->stream);
    PyMem_Free(capture);
}

static PyObject *new_capture(PyObject *stream, ForeignCapture **out)
{
    ForeignCapture *capture = PyMem_Calloc(1, sizeof *capture);
    if (!capture) return PyErr_NoMemory();
    PyObject *capsule = captured_new(&capture->kept) == 0 ? PyCapsule_New(capture, capsule_name, NULL) : NULL;
    if (!capsule) {
        Py_XDECREF(capture->kept.dict);
        PyMem_Free(capture);
        return NULL;
    }
    PyCapsule_SetDestructor(capsule, free_capture);
    capture->stream = Py_XNewRef(stream);
    *out = capture;
    return capsule;
}

/* ---- The graph's end ---- */

typedef struct GraphEnd {
    ModuleState *state; /* lives at least until `release` has run */
    struct Deferred *release;
} GraphEnd;

/* Called by a thread of the driver, or within the call that destroys the last object made of the graph. */
static void end_of_graph(void *data)
{
    GraphEnd end = *(GraphEnd *)data;
    PyMem_RawFree(data);
    if (Py_IsInitialized() && !ext_is_finalizing()) deferred_post(end.state, end.release);
}

static GraphEnd *new_end(ModuleState *state, PyObject *capsule)
{
    GraphEnd *end = PyMem_RawMalloc(sizeof *end);
    struct Deferred *release = end ? deferred_new(state, capsule) : NULL;
    if (release) {
        Py_INCREF(capsule);
        *end = (GraphEnd){state, release};
        return end;
    }
    PyMem_RawFree(end);
    PyErr_NoMemory();
    return NULL;
}

/* Makes the graph own `end` by a user object. *driver_owns_end: the driver will call end_of_graph(end),
 * whatever the result is; if false, the caller does. */
static CUresult give_to_graph(ModuleState *state, CUgraph graph, GraphEnd *end, bool *driver_owns_end)
{
    CUuserObject user;
    CUresult result =
        once_cuUserObjectCreate(state, &user, end, end_of_graph, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    *driver_owns_end = result == CUDA_SUCCESS;
    if (!*driver_owns_end) return result;
    result = once_cuGraphRetainUserObject(state, graph, user, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) once_cuUserObjectRelease(state, user, 1);
    return result;
}

/* ---- Noticing ---- */

/* Whether a capture with the driver's number `id` is in the list. */
static bool is_known_capture(const ModuleState *state, unsigned long long id)
{
    const Captured *captured = state->captured;
    while (captured && captured->id != id) captured = captured->next;
    return captured;
}

/* On success the state's list of captures owns one reference to the capsule; the driver's user object owns
 * the other and drops it in end_of_graph. */
static int add_foreign_capture(ModuleState *state, PyObject *object, CUstream stream, unsigned long long id,
                               CUgraph graph)
{
    ForeignCapture *capture = NULL;
    bool driver_owns_end = false;
    PyObject *capsule = new_capture(object, &capture);
    GraphEnd *end = capsule ? new_end(state, capsule) : NULL;
    if (!capture || !end) {
        Py_XDECREF(capsule);
        return -1;
    }
    CUresult result = give_to_graph(state, graph, end, &driver_owns_end);
    if (!driver_owns_end) end_of_graph(end);
    if (result != CUDA_SUCCESS || is_known_capture(state, id)) { /* another thread was first */
        Py_DECREF(capsule);
        return raise_unless(state, result, "cuGraphRetainUserObject");
    }
    capture->captured =
        (Captured){.foreign = true, .id = id, .stream = stream, .graph = capsule, .kept = &capture->kept};
    captured_open(state, &capture->captured);
    return 0;
}

int captured_notice(ModuleState *state, PyObject *object, CUstream stream)
{
    CUgraph graph = NULL;
    if (!stream || stream == CU_STREAM_LEGACY || host_function_runs()) return 0;
    unsigned long long id = captured_query(state, stream, &graph);
    if (id == 0 || id == CAPTURED_LEGACY) return 0;
    if (id == CAPTURED_BROKEN || !graph || is_known_capture(state, id)) return 1;
    return add_foreign_capture(state, object, stream, id, graph) < 0 ? -1 : 1;
}

/* A foreign capture that the driver was not asked about in this round, or NULL. */
static Captured *next_foreign(const ModuleState *state, unsigned long round)
{
    Captured *captured = state->captured;
    while (captured && !(captured->foreign && ((ForeignCapture *)captured)->round != round))
        captured = captured->next;
    return captured;
}

/* A round: each foreign capture is asked about once; after each the list is read again, as other threads may
 * change it. The capsule is held because closing may drop the list's reference. */
bool captured_close_ended(ModuleState *state)
{
    static unsigned long rounds;
    unsigned long round = ++rounds;
    for (Captured *captured; (captured = next_foreign(state, round));) {
        PyObject *capsule = Py_NewRef(captured->graph);
        ((ForeignCapture *)captured)->round = round;
        bool ended = captured_query(state, captured->stream, NULL) != captured->id;
        if (ended && captured_close(state, captured)) Py_DECREF(capsule); /* the list's */
        Py_DECREF(capsule);
    }
    return captured_some(state);
}
