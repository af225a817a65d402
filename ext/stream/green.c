/* GreenContext: the primary context of a device, with a part of its multiprocessors.
 *
 * A Context of the kind GREEN, ended as a primary one is: when it was detached and nothing remains that was
 * made through it. */
#include "ext/context/resource.h"
#include "ext/convert/convert.h"
#include "ext/base/driver_calls.h"
#include "ext/stream/stream.h"
#include "ext/base/types.h"

/* ---- Making one ---- */

/* A green context being made: its resources, and the driver's objects so far. */
typedef struct GreenRequest {
    CUdevResource *parts; /* owned */
    Py_ssize_t count;
    CUdevice device; /* the device of all parts */
    CUgreenCtx green;
    CUcontext handle;
    const char *routine; /* the driver function called last */
} GreenRequest;

/* Fills the parts, their count and device from a list or tuple of DeviceResource. -1 with an exception. */
static int read_parts(ModuleState *state, PyObject *items, GreenRequest *request)
{
    request->count = PySequence_Fast_GET_SIZE(items);
    request->parts = PyMem_Calloc((size_t)request->count + 1, sizeof *request->parts);
    if (!request->parts) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < request->count; k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, k);
        if (Py_TYPE(item) != state->DeviceResource_type) {
            PyErr_Format(PyExc_TypeError, "resources must be a DeviceResource or several, not %s",
                         Py_TYPE(item)->tp_name);
            return -1;
        }
        request->parts[k] = resource_cast(item)->value;
        request->device = resource_cast(item)->device;
    }
    if (request->count > 0) return 0;
    raise_driver(state, CUDA_ERROR_INVALID_VALUE, "cuDevResourceGenerateDesc",
                 "resources is empty: a GreenContext needs at least one");
    return -1;
}

static int read_resources(ModuleState *state, PyObject *resources, GreenRequest *request)
{
    bool one = Py_TYPE(resources) == state->DeviceResource_type;
    PyObject *items = one ? PyTuple_Pack(1, resources)
                          : convert_items(resources, "resources must be a DeviceResource or several");
    int status = items ? read_parts(state, items, request) : -1;
    Py_XDECREF(items);
    return status;
}

/* Makes request->green and request->handle. On failure nothing is left, and request->routine is the call that
 * failed. */
static CUresult create_green(ModuleState *state, GreenRequest *request)
{
    CUdevResourceDesc descriptor;
    request->routine = "cuDevResourceGenerateDesc";
    CUresult result =
        once_cuDevResourceGenerateDesc(state, &descriptor, request->parts, (unsigned)request->count);
    if (result != CUDA_SUCCESS) return result;
    request->routine = "cuGreenCtxCreate";
    result = once_cuGreenCtxCreate(state, &request->green, descriptor, request->device,
                                   CU_GREEN_CTX_DEFAULT_STREAM);
    if (result != CUDA_SUCCESS) return result;
    request->routine = "cuCtxFromGreenCtx";
    result = once_cuCtxFromGreenCtx(state, &request->handle, request->green);
    if (result != CUDA_SUCCESS) once_cuGreenCtxDestroy(state, request->green);
    return result;
}

/* The Context object of the new green context. It takes over request->green and the caller's hold of the
 * primary context. NULL with an exception: then the green context is destroyed, and the caller still holds
 * the primary one. */
static ContextObject *wrap_green(ModuleState *state, const GreenRequest *request, ContextObject *primary)
{
    bool was_there;
    ContextObject *context =
        context_of_handle(state, request->handle, request->device, CONTEXT_GREEN, &was_there);
    if (!context) {
        once_cuGreenCtxDestroy(state, request->green); /* the exception says what went wrong first */
        return NULL;
    }
    context->green = request->green;
    context->primary = primary;
    context_count(context, true);
    return context;
}

static ContextObject *new_green(ModuleState *state, GreenRequest *request)
{
    ContextObject *primary = context_hold_primary(state, request->device), *context = NULL;
    if (!primary) return NULL;
    CUresult result = create_green(state, request);
    if (result == CUDA_SUCCESS)
        context = wrap_green(state, request, primary);
    else
        raise_driver(state, result, request->routine,
                     "%zd resources: several must be distinct and come from one split", request->count);
    if (!context) context_drop(primary);
    return context;
}

PyDoc_STRVAR(green_doc,
             "GreenContext(resources)\n--\n\n"
             "A context whose kernels run on a part of a device: the device's primary context with\n"
             "some of its multiprocessors.\n\n"
             "It is used as any Context is, by ``with context:``, push, pop and detach, in one thread at\n"
             "a time, as the driver requires. Memory and modules are those of the primary context, which\n"
             "is there as long as it is.\n"
             "\nParameters\n----------\n"
             "resources : DeviceResource or sequence of it\n    Of one split, if there are several.\n"
             "\nRaises\n------\n"
             "LogicError\n    The resources do not go together.\n"
             "\nNotes\n-----\n"
             "Calls cuDevResourceGenerateDesc, cuGreenCtxCreate, cuCtxFromGreenCtx.");

static PyObject *green_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *resources;
    GreenRequest request = {.device = CU_DEVICE_INVALID};
    ContextObject *context = NULL;
    if (READ_CALL(green_doc, INTO(&resources)) == 0 && read_resources(state, resources, &request) == 0)
        context = new_green(state, &request);
    PyMem_Free(request.parts);
    return (PyObject *)context;
}

/* ---- Its streams and events ---- */

PyDoc_STRVAR(create_stream_doc, "create_stream($self, priority=0)\n--\n\n"
                                "Make a stream of this context, whichever is current.\n\n"
                                "It is not ordered with the default stream.\n"
                                "\nParameters\n----------\n"
                                "priority : int\n    The lower number has priority.\n"
                                "\nReturns\n-------\n"
                                "Stream\n"
                                "\nNotes\n-----\n"
                                "Calls cuGreenCtxStreamCreate.");

static PyObject *create_stream(PyObject *self, FAST_PARAMETERS)
{
    ContextObject *context = context_cast(self);
    ModuleState *state = context->state;
    PyTypeObject *type = state->Stream_type;
    int priority = 0;
    if (READ_ARGUMENTS(create_stream_doc, INTO(&priority)) < 0
        || !context_check(context, "cuGreenCtxStreamCreate"))
        return NULL;
    StreamObject *stream = stream_cast(type->tp_alloc(type, 0));
    if (!stream) return NULL;
    stream->state = state;
    stream->context = context_hold(context);
    stream->non_blocking = true;
    wait_note_stream(state);
    CUresult result =
        once_cuGreenCtxStreamCreate(state, &stream->handle, context->green, CU_STREAM_NON_BLOCKING, priority);
    if (result != CUDA_SUCCESS) {
        stream->handle = NULL;
        raise_driver(state, result, "cuGreenCtxStreamCreate", NULL);
        Py_DECREF((PyObject *)stream);
        return NULL;
    }
    LIVE_MORE(state, Stream);
    return (PyObject *)stream;
}

PyObject *stream_get_green_context(PyObject *object, void *Py_UNUSED(closure))
{
    StreamObject *stream = stream_cast(object);
    CUgreenCtx green = NULL;
    if (!context_check(stream->context, "cuStreamGetGreenCtx")) return NULL;
    if (gpu_cuStreamGetGreenCtx(stream->state, stream->handle, &green) < 0) return NULL;
    bool known = green && stream->context->green == green;
    return Py_NewRef(known ? (PyObject *)stream->context : Py_None);
}

typedef CUresult (*EventCall)(ModuleState *state, CUgreenCtx green, CUevent event);

/* Makes a call with this green context and the event `given`. -1 with an exception. */
static int call_with_event(PyObject *self, PyObject *given, EventCall call, const char *routine)
{
    ContextObject *context = context_cast(self);
    EventObject *event =
        context_check(context, routine) ? event_read(context->state, given, "evt", routine) : NULL;
    if (!event) return -1;
    context_hold(context); /* it does not end meanwhile */
    CUresult result = call(context->state, context->green, event->handle);
    context_drop(context);
    return raise_unless(context->state, result, routine);
}

PyDoc_STRVAR(record_event_doc, "record_event($self, evt)\n--\n\n"
                               "Let an event mark the end of the work queued so far in all streams of\n"
                               "this context.\n"
                               "\nParameters\n----------\n"
                               "evt : Event\n"
                               "\nReturns\n-------\n"
                               "Event\n    The same.\n"
                               "\nNotes\n-----\n"
                               "Calls cuGreenCtxRecordEvent.");

static PyObject *record_event(PyObject *self, FAST_PARAMETERS)
{
    PyObject *event;
    if (READ_ARGUMENTS(record_event_doc, INTO(&event)) < 0) return NULL;
    int failed = call_with_event(self, event, once_cuGreenCtxRecordEvent, "cuGreenCtxRecordEvent");
    return failed ? NULL : Py_NewRef(event);
}

PyDoc_STRVAR(wait_for_event_doc, "wait_for_event($self, evt)\n--\n\n"
                                 "Let work queued from now on in all streams of this context wait for\n"
                                 "what an event last recorded.\n"
                                 "\nParameters\n----------\n"
                                 "evt : Event\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuGreenCtxWaitEvent.");

static PyObject *wait_for_event(PyObject *self, FAST_PARAMETERS)
{
    PyObject *event;
    if (READ_ARGUMENTS(wait_for_event_doc, INTO(&event)) < 0) return NULL;
    return none_unless(call_with_event(self, event, once_cuGreenCtxWaitEvent, "cuGreenCtxWaitEvent"));
}

static PyObject *get_id(PyObject *self, void *Py_UNUSED(closure))
{
    ContextObject *context = context_cast(self);
    unsigned long long id;
    CUresult result;
    if (!context_check(context, "cuGreenCtxGetId")) return NULL;
    context_hold(context); /* it does not end meanwhile */
    result = once_cuGreenCtxGetId(context->state, context->green, &id);
    context_drop(context);
    return result == CUDA_SUCCESS ? PyLong_FromUnsignedLongLong(id)
                                  : raise_driver(context->state, result, "cuGreenCtxGetId", NULL);
}

/* ---- The class ---- */

static PyMethodDef green_methods[] = {
    {"create_stream", AS_METHOD(create_stream), FAST_KEYWORDS, create_stream_doc},
    {"record_event", AS_METHOD(record_event), FAST_KEYWORDS, record_event_doc},
    {"wait_for_event", AS_METHOD(wait_for_event), FAST_KEYWORDS, wait_for_event_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef green_properties[] = {
    {"id", get_id, NULL, "Its ID, unique within the process.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec GreenContext_spec = {
    TYPE_OF("pycuda.driver.GreenContext", ContextObject, 0, green_doc),
    .tp_new = green_tp_new,
    .tp_dealloc = context_dealloc,
    TYPE_TABLES(green_methods, green_properties, NULL),
};
