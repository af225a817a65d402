/* GreenContext: the primary context of a device, with a part of its multiprocessors.
 *
 * A Context of the kind GREEN, ended as a primary one is: when it was detached and nothing remains that was
 * made through it. */
#include "ext/context/resource.h"
#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/stream/stream.h"

/* ---- Making one ---- */

/* The driver's descriptor of what is in a sequence; all is of one device. -1 with an exception. */
static int describe(ModuleState *state, PyObject *items, CUdevResourceDesc *out, CUdevice *device)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    CUresult result;
    CUdevResource *values = PyMem_Calloc((size_t)count + 1, sizeof *values);
    int status = values ? 0 : (PyErr_NoMemory(), -1);
    for (Py_ssize_t k = 0; status == 0 && k < count; k++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, k);
        if (Py_TYPE(item) != state->DeviceResource_type) {
            PyErr_Format(PyExc_TypeError, "resources must be a DeviceResource or several, not %s",
                         Py_TYPE(item)->tp_name);
            status = -1;
            break;
        }
        values[k] = resource_cast(item)->value;
        *device = resource_cast(item)->device;
    }
    if (status == 0) {
        CALL_NEAR(state, result, driver.cuDevResourceGenerateDesc(out, values, (unsigned)count));
        status = result == CUDA_SUCCESS ? 0 : -1;
        if (status < 0)
            raise_driver(state, result, "cuDevResourceGenerateDesc",
                         "%zd resources: of several, each is there once, and all come from one split", count);
    }
    PyMem_Free(values);
    return status;
}

static int read_resources(ModuleState *state, PyObject *resources, CUdevResourceDesc *out, CUdevice *device)
{
    bool one = Py_TYPE(resources) == state->DeviceResource_type;
    PyObject *items = one ? PyTuple_Pack(1, resources)
                          : PySequence_Fast(resources, "resources must be a DeviceResource or several");
    int status = items ? describe(state, items, out, device) : -1;
    Py_XDECREF(items);
    return status;
}

/* Takes the green context over. NULL with an exception. */
static PyObject *wrap(ModuleState *state, CUgreenCtx green, CUdevice device)
{
    CUcontext handle = NULL;
    CUresult result;
    bool was_there;
    ContextObject *context = NULL;
    CALL_NEAR(state, result, driver.cuCtxFromGreenCtx(&handle, green));
    if (result == CUDA_SUCCESS)
        context = context_of_handle(state, handle, device, CONTEXT_GREEN, &was_there);
    else
        raise_driver(state, result, "cuCtxFromGreenCtx", NULL);
    if (!context) {
        CALL_QUIET(state, driver.cuGreenCtxDestroy(green));
        return NULL;
    }
    context->green = green;
    context_count(context, true);
    return (PyObject *)context;
}

PyDoc_STRVAR(green_doc,
             "GreenContext(resources)\n--\n\n"
             "A context whose kernels run on a part of a device: the device's primary context with\n"
             "some of its multiprocessors.\n\n"
             "It is used as any Context is: ``with context:``, push, pop, detach. Memory and modules\n"
             "are those of the primary context.\n"
             "\nParameters\n----------\n"
             "resources : DeviceResource or sequence of it\n    Of one split, if there are several.\n"
             "\nRaises\n------\n"
             "LogicError\n    The resources do not go together.\n"
             "\nNotes\n-----\n"
             "Calls cuDevResourceGenerateDesc, cuGreenCtxCreate, cuCtxFromGreenCtx.");

static PyObject *green_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *given[1];
    CUdevResourceDesc descriptor;
    CUdevice device = CU_DEVICE_INVALID;
    CUgreenCtx green;
    CUresult result;
    if (convert_call(green_doc, args, kwargs, GIVEN(given)) < 0
        || read_resources(state, given[0], &descriptor, &device) < 0)
        return NULL;
    CALL_UNLOCKED(result, driver.cuGreenCtxCreate(&green, descriptor, device, CU_GREEN_CTX_DEFAULT_STREAM));
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuGreenCtxCreate", NULL);
    return wrap(state, green, device);
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
    PyObject *given[1];
    int priority = 0;
    CUresult result;
    if (convert_arguments(create_stream_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_int(given[0], "priority", &priority) < 0
        || !context_check(context, "cuGreenCtxStreamCreate"))
        return NULL;
    StreamObject *stream = stream_cast(type->tp_alloc(type, 0));
    if (!stream) return NULL;
    stream->state = state;
    stream->context = context_hold(context);
    stream->non_blocking = true;
    CALL(state, result,
         driver.cuGreenCtxStreamCreate(&stream->handle, context->green, CU_STREAM_NON_BLOCKING, priority));
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
    CUresult result;
    if (!context_check(stream->context, "cuStreamGetGreenCtx")) return NULL;
    CALL(stream->state, result, driver.cuStreamGetGreenCtx(stream->handle, &green));
    if (result != CUDA_SUCCESS) return raise_driver(stream->state, result, "cuStreamGetGreenCtx", NULL);
    bool known = green && stream->context->green == green;
    return Py_NewRef(known ? (PyObject *)stream->context : Py_None);
}

/* The event of an argument, usable in this context; NULL with an exception. */
static EventObject *read_event(ContextObject *context, PyObject *event, const char *routine)
{
    if (!PyObject_TypeCheck(event, context->state->Event_type)) {
        PyErr_Format(PyExc_TypeError, "evt must be an Event, not %s", Py_TYPE(event)->tp_name);
        return NULL;
    }
    bool usable = context_check(context, routine) && context_check(event_cast(event)->context, routine);
    return usable ? event_cast(event) : NULL;
}

PyDoc_STRVAR(record_event_doc, "record_event($self, evt, /)\n--\n\n"
                               "Let an event mark the end of the work queued so far in all streams of\n"
                               "this context.\n"
                               "\nParameters\n----------\n"
                               "evt : Event\n"
                               "\nReturns\n-------\n"
                               "Event\n    The same.\n"
                               "\nNotes\n-----\n"
                               "Calls cuGreenCtxRecordEvent.");

static PyObject *record_event(PyObject *self, PyObject *given)
{
    ContextObject *context = context_cast(self);
    CUresult result;
    EventObject *event = read_event(context, given, "cuGreenCtxRecordEvent");
    if (!event) return NULL;
    CALL(context->state, result, driver.cuGreenCtxRecordEvent(context->green, event->handle));
    return result == CUDA_SUCCESS ? Py_NewRef(given)
                                  : raise_driver(context->state, result, "cuGreenCtxRecordEvent", NULL);
}

PyDoc_STRVAR(wait_for_event_doc, "wait_for_event($self, evt, /)\n--\n\n"
                                 "Let work queued from now on in all streams of this context wait for\n"
                                 "what an event last recorded.\n"
                                 "\nParameters\n----------\n"
                                 "evt : Event\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuGreenCtxWaitEvent.");

static PyObject *wait_for_event(PyObject *self, PyObject *given)
{
    ContextObject *context = context_cast(self);
    CUresult result;
    EventObject *event = read_event(context, given, "cuGreenCtxWaitEvent");
    if (!event) return NULL;
    CALL(context->state, result, driver.cuGreenCtxWaitEvent(context->green, event->handle));
    return none_or_raise(context->state, result, "cuGreenCtxWaitEvent");
}

static PyObject *get_id(PyObject *self, void *Py_UNUSED(closure))
{
    ContextObject *context = context_cast(self);
    unsigned long long id;
    CUresult result;
    if (!context_check(context, "cuGreenCtxGetId")) return NULL;
    CALL_NEAR(context->state, result, driver.cuGreenCtxGetId(context->green, &id));
    return result == CUDA_SUCCESS ? PyLong_FromUnsignedLongLong(id)
                                  : raise_driver(context->state, result, "cuGreenCtxGetId", NULL);
}

/* ---- The class ---- */

static PyMethodDef green_methods[] = {
    {"create_stream", AS_METHOD(create_stream), FAST_KEYWORDS, create_stream_doc},
    {"record_event", record_event, METH_O, record_event_doc},
    {"wait_for_event", wait_for_event, METH_O, wait_for_event_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef green_properties[] = {
    {"id", get_id, NULL, "A number that no other green context of the process has.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot green_slots[] = {
    {Py_tp_doc, (void *)green_doc},
    {Py_tp_new, AS_SLOT(green_tp_new)},
    {Py_tp_dealloc, AS_SLOT(context_dealloc)},
    {Py_tp_methods, green_methods},
    {Py_tp_getset, green_properties},
    {0, NULL},
};

static PyType_Spec green_spec = {
    .name = "pycuda._driver.GreenContext",
    .basicsize = sizeof(ContextObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = green_slots,
};

int green_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->GreenContext_type, &green_spec, state->Context_type);
}
