/* ArgumentHandler, In, Out, InOut: host arrays as kernel arguments, copied to the device and back around a
 * launch.
 *
 * A handler allocates memory when it is first used and keeps it for later uses. Its copies are in order with
 * the launch, also on a stream, and are complete when the launch returns: the host array may then be changed
 * or read at once. */
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/launch/function.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"
#include "ext/stream/stream.h"

typedef struct HandlerObject {
    PyObject_HEAD
    ModuleState *state;
    PyObject *array;        /* the host array */
    PyObject *dev_alloc;    /* None until needed */
    PyObject *attributes;   /* __dict__ */
} HandlerObject;

static HandlerObject *handler_cast(PyObject *object) { return (HandlerObject *)object; }

static PyObject *handler_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    HandlerObject *handler = handler_cast(type->tp_alloc(type, 0));
    if (!handler) return NULL;
    handler->state = state_of_type(type);
    handler->array = Py_NewRef(Py_None);
    handler->dev_alloc = Py_NewRef(Py_None);
    return (PyObject *)handler;
}

PyDoc_STRVAR(handler_doc, "ArgumentHandler(ary)\n--\n\n"
                          "A host array as a kernel argument. Subclasses define pre_call and post_call.\n"
                          "\nParameters\n----------\n"
                          "ary : numpy.ndarray or bytes-like");

static int handler_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    if (convert_call(handler_doc, args, kwargs, GIVEN(given)) < 0) return -1;
    Py_XSETREF(handler_cast(self)->array, Py_NewRef(given[0]));
    Py_XSETREF(handler_cast(self)->dev_alloc, Py_NewRef(Py_None));
    return 0;
}

static int handler_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(handler_cast(self)->array);
    Py_VISIT(handler_cast(self)->dev_alloc);
    Py_VISIT(handler_cast(self)->attributes);
    return 0;
}

static int handler_clear(PyObject *self)
{
    Py_CLEAR(handler_cast(self)->array);
    Py_CLEAR(handler_cast(self)->dev_alloc);
    Py_CLEAR(handler_cast(self)->attributes);
    return 0;
}

static void handler_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    handler_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(get_device_alloc_doc,
             "get_device_alloc($self)\n--\n\n"
             "The device memory for the array, allocated at the first call.\n"
             "\nReturns\n-------\n"
             "DeviceAllocation or None\n    array.nbytes bytes; None for an array without elements.\n"
             "\nRaises\n------\n"
             "TypeError\n    The array has no nbytes.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAlloc.");

static PyObject *get_device_alloc(PyObject *self, PyObject *Py_UNUSED(none))
{
    HandlerObject *handler = handler_cast(self);
    size_t size = 0;
    if (handler->dev_alloc && handler->dev_alloc != Py_None) return Py_NewRef(handler->dev_alloc);
    PyObject *array = Py_XNewRef(handler->array);
    PyObject *nbytes = array ? PyObject_GetAttrString(array, "nbytes") : NULL;
    if (!nbytes)
        PyErr_Format(PyExc_TypeError, "could not determine the size of the array: %.200s has no nbytes",
                     array ? Py_TYPE(array)->tp_name : "nothing");
    Py_XDECREF(array);
    if (!nbytes) return NULL;
    int failed = convert_size(nbytes, "nbytes", &size);
    Py_DECREF(nbytes);
    if (failed) return NULL;
    if (size == 0) Py_RETURN_NONE;
    PyObject *allocation = device_allocation_new(handler->state, size);
    if (allocation) Py_XSETREF(handler->dev_alloc, Py_NewRef(allocation));
    return allocation;
}

/* *out: the address of the handler's device memory, which must have `size` bytes. 1; 0 when there is nothing
 * to copy; -1 with an exception. */
static int find_device_memory(PyObject *self, size_t size, CUdeviceptr *out)
{
    HandlerObject *handler = handler_cast(self);
    PyObject *allocation = PyObject_CallMethodNoArgs(self, handler->state->str_get_device_alloc);
    if (!allocation) return -1;
    int found = size == 0 || allocation == Py_None ? 0 : 1;
    if (found && convert_range(handler->state, allocation, "the handler's memory", size, out) < 0) found = -1;
    Py_DECREF(allocation);
    return found;
}

/* Copies after the work that was queued before on the stream, and waits for the copy. A signal ends the wait
 * for the earlier work, but not the copy. -1 with an exception. */
static int copy_in(ModuleState *state, CUdeviceptr to, const HostBuffer *from, CUstream stream)
{
    if (!stream) return gpu_cuMemcpyHtoD(state, to, from->pointer, from->size);
    if (gpu_cuStreamSynchronize(state, stream) < 0) return -1;
    CUresult result = once_cuMemcpyHtoDAsync(state, to, from->pointer, from->size, stream);
    return wait_after_copy(state, stream, result, "cuMemcpyHtoDAsync");
}

/* As copy_in(), from the device to the host. */
static int copy_out(ModuleState *state, const HostBuffer *to, CUdeviceptr from, CUstream stream)
{
    if (!stream) return gpu_cuMemcpyDtoH(state, to->pointer, from, to->size);
    if (gpu_cuStreamSynchronize(state, stream) < 0) return -1;
    CUresult result = once_cuMemcpyDtoHAsync(state, to->pointer, from, to->size, stream);
    return wait_after_copy(state, stream, result, "cuMemcpyDtoHAsync");
}

typedef int (*BufferFn)(PyObject *object, const char *what, HostBuffer *out);

/* Copies the handler's array to its device memory, or if not `in` back. borrow: buffers_read or
 * buffers_write. */
static PyObject *copy_array(PyObject *self, PyObject *stream_object, BufferFn borrow, bool in)
{
    HandlerObject *handler = handler_cast(self);
    CUstream stream;
    HostBuffer buffer;
    CUdeviceptr address = 0;
    if (convert_stream(handler->state, stream_object, &stream) < 0
        || borrow(handler->array, in ? "In: the array" : "Out: the array", &buffer) < 0)
        return NULL;
    int found = find_device_memory(self, buffer.size, &address);
    if (found > 0)
        found = in ? copy_in(handler->state, address, &buffer, stream)
                   : copy_out(handler->state, &buffer, address, stream);
    buffers_release(&buffer);
    return found < 0 ? NULL : Py_NewRef(Py_None);
}

#define HOOK_DOC(name, does, more) \
    name "($self, stream)\n--\n\n" does "\n\nParameters\n----------\nstream : Stream or None\n" more
#define CALLS(...) "\nNotes\n-----\nCalls " __VA_ARGS__ "."

PyDoc_STRVAR(no_pre_call_doc,
             HOOK_DOC("pre_call", "Called before the launch. Does nothing here.", "    That of the launch."));
PyDoc_STRVAR(pre_call_doc, HOOK_DOC("pre_call", "Copy the array to the device, after the work on the stream.",
                                    CALLS("cuMemcpyHtoD, cuMemcpyHtoDAsync")));
PyDoc_STRVAR(
    out_pre_call_doc,
    HOOK_DOC("pre_call", "Refuse an array that the result could not be copied to, before the kernel runs.",
             "\nRaises\n------\nTypeError, ValueError\n    The array is not a writable, contiguous buffer."));
PyDoc_STRVAR(in_out_pre_call_doc,
             HOOK_DOC("pre_call",
                      "Copy the array, which must be writable, to the device, after the work on the stream.",
                      CALLS("cuMemcpyHtoD, cuMemcpyHtoDAsync")));
PyDoc_STRVAR(post_call_doc,
             HOOK_DOC("post_call", "Copy the result back to the array, after the work on the stream.",
                      CALLS("cuMemcpyDtoH, cuMemcpyDtoHAsync")));

static int check_writable(PyObject *self)
{
    HostBuffer buffer;
    if (buffers_write(handler_cast(self)->array, "Out: the array", &buffer) < 0) return -1;
    buffers_release(&buffer);
    return 0;
}

static PyObject *no_pre_call(PyObject *Py_UNUSED(self), FAST_PARAMETERS)
{
    PyObject *stream;
    return none_unless(READ_ARGUMENTS(no_pre_call_doc, INTO(&stream)));
}

static PyObject *pre_call(PyObject *self, FAST_PARAMETERS)
{
    PyObject *stream;
    if (READ_ARGUMENTS(pre_call_doc, INTO(&stream)) < 0) return NULL;
    return copy_array(self, stream, buffers_read, true);
}

static PyObject *out_pre_call(PyObject *self, FAST_PARAMETERS)
{
    PyObject *stream;
    return none_unless(READ_ARGUMENTS(out_pre_call_doc, INTO(&stream)) < 0 || check_writable(self) < 0);
}

static PyObject *in_out_pre_call(PyObject *self, FAST_PARAMETERS)
{
    PyObject *stream;
    if (READ_ARGUMENTS(in_out_pre_call_doc, INTO(&stream)) < 0 || check_writable(self) < 0) return NULL;
    return copy_array(self, stream, buffers_read, true);
}

static PyObject *post_call(PyObject *self, FAST_PARAMETERS)
{
    PyObject *stream;
    if (READ_ARGUMENTS(post_call_doc, INTO(&stream)) < 0) return NULL;
    return copy_array(self, stream, buffers_write, false);
}

/* Members that can be set, but in the section (section.h). field: the offset in HandlerObject. */
static PyObject *get_field(PyObject *self, void *field)
{
    PyObject *value = *(PyObject **)((char *)self + (size_t)field);
    return Py_NewRef(value ? value : Py_None);
}

static int set_field(PyObject *self, PyObject *value, void *field)
{
    Py_XSETREF(*(PyObject **)((char *)self + (size_t)field), Py_XNewRef(value));
    return 0;
}

#define FIELD(name) (void *)offsetof(HandlerObject, name)
static PyGetSetDef handler_properties[] = {
    {"array", get_field, set_field, "The host array.", FIELD(array)},
    {"dev_alloc", get_field, set_field, "Its device memory; None until needed.", FIELD(dev_alloc)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef handler_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(HandlerObject, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef handler_methods[] = {
    {"get_device_alloc", get_device_alloc, METH_NOARGS, get_device_alloc_doc},
    {"pre_call", AS_METHOD(no_pre_call), FAST_KEYWORDS, no_pre_call_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef in_methods[] = {
    {"pre_call", AS_METHOD(pre_call), FAST_KEYWORDS, pre_call_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef out_methods[] = {
    {"pre_call", AS_METHOD(out_pre_call), FAST_KEYWORDS, out_pre_call_doc},
    {"post_call", AS_METHOD(post_call), FAST_KEYWORDS, post_call_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef in_out_methods[] = {
    {"pre_call", AS_METHOD(in_out_pre_call), FAST_KEYWORDS, in_out_pre_call_doc},
    {"post_call", AS_METHOD(post_call), FAST_KEYWORDS, post_call_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec ArgumentHandler_spec = {
    TYPE_OF("pycuda.driver.ArgumentHandler", HandlerObject, Py_TPFLAGS_BASETYPE, handler_doc),
    .tp_new = handler_new,
    .tp_init = handler_init,
    .tp_dealloc = handler_dealloc,
    .tp_traverse = handler_traverse,
    .tp_clear = handler_clear,
    TYPE_TABLES(handler_methods, handler_properties, handler_members),
};

PyDoc_STRVAR(in_doc, "In(ary)\n--\n\n"
                     "A host array that is copied to the device before the launch.\n"
                     "\nParameters\n----------\n"
                     "ary : numpy.ndarray or bytes-like");

PyDoc_STRVAR(out_doc,
             "Out(ary)\n--\n\n"
             "A host array that is filled from the device after the launch, which then waits for the\n"
             "kernel.\n"
             "\nParameters\n----------\n"
             "ary : numpy.ndarray or bytes-like");

PyDoc_STRVAR(in_out_doc, "InOut(ary)\n--\n\n"
                         "A host array that is copied to the device before the launch and back after it.\n"
                         "\nParameters\n----------\n"
                         "ary : numpy.ndarray or bytes-like");

/* Subclasses of ArgumentHandler, from which they inherit all other slots and Py_TPFLAGS_HAVE_GC. */
#define HANDLER_TYPE(name, doc, methods) \
    {TYPE_OF("pycuda.driver." name, HandlerObject, Py_TPFLAGS_BASETYPE, doc), .tp_methods = methods}

const TypeSpec In_spec = HANDLER_TYPE("In", in_doc, in_methods);
const TypeSpec Out_spec = HANDLER_TYPE("Out", out_doc, out_methods);
static const TypeSpec in_out_spec = HANDLER_TYPE("InOut", in_out_doc, in_out_methods);

int argument_handlers_setup(PyObject *module, ModuleState *state)
{
    PyObject *bases = PyTuple_Pack(2, state->In_type, state->Out_type);
    int failed = bases ? type_add_with_bases(module, &state->InOut_type, &in_out_spec, bases) : -1;
    Py_XDECREF(bases);
    return failed;
}
