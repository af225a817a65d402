/* Reading __cuda_array_interface__, and the order between its stream and ours. See foreign.h. */
#include "ext/convert/foreign.h"

#include "ext/convert/convert.h"
#include "ext/convert/dlpack.h"
#include "ext/base/driver_calls.h"

/* An entry of the interface, a new reference; NULL without an exception when there is none. */
static PyObject *interface_entry(PyObject *interface, PyObject *name)
{
    PyObject *value = PyObject_GetItem(interface, name);
    if (!value && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
    return value;
}

/* *out: the first item of the entry "data". -1 with TypeError when there is no such tuple. */
static int read_pointer(ModuleState *state, PyObject *interface, CUdeviceptr *out)
{
    unsigned long long number = 0;
    PyObject *data = interface_entry(interface, state->str_data);
    PyObject *address =
        data && PyTuple_Check(data) && PyTuple_GET_SIZE(data) ? Py_NewRef(PyTuple_GET_ITEM(data, 0)) : NULL;
    int failed = address ? convert_bits(address, "the address in __cuda_array_interface__", 64, &number) : -1;
    if (failed && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "__cuda_array_interface__ has no \"data\" tuple");
    Py_XDECREF(address);
    Py_XDECREF(data);
    *out = (CUdeviceptr)number;
    return failed;
}

/* Reads the entry "stream". None means that no work is outstanding. 1 and 2 are the two default streams, 0 is
 * refused as ambiguous. Without an entry (version 2 and earlier) nothing is said: the default stream is
 * assumed. `unordered` notes this; callers then prefer DLPack, where the object has it. */
static int read_stream(ModuleState *state, PyObject *interface, ForeignArray *out)
{
    unsigned long long number = 0;
    PyObject *stream = interface_entry(interface, state->str_stream);
    if (!stream && PyErr_Occurred()) return -1;
    out->unordered = !stream;
    out->has_stream = stream != Py_None;
    int failed = 0;
    if (!stream)
        number = (uintptr_t)CU_STREAM_LEGACY;
    else if (stream != Py_None)
        failed = convert_bits(stream, "the stream in __cuda_array_interface__", 64, &number);
    out->stream = (CUstream)(uintptr_t)number;
    Py_XDECREF(stream);
    if (failed || !out->has_stream || number) return failed;
    PyErr_SetString(PyExc_ValueError,
                    "the stream in __cuda_array_interface__ is 0, which is ambiguous: 1 is the legacy "
                    "default stream, 2 the per-thread one, None means that no work is queued");
    return -1;
}

int foreign_read_interface(ModuleState *state, PyObject *object, PyObject *interface, ForeignArray *out)
{
    if (!PyMapping_Check(interface)) {
        PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ of %s is not a dict",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    return read_pointer(state, interface, &out->pointer) < 0 || read_stream(state, interface, out) < 0 ? -1
                                                                                                       : 0;
}

/* foreign_find() by DLPack. Only the address is passed on, so the object has to keep the memory: a tensor
 * that is a copy would be freed at the end of this function, and is refused. The consumer's stream is not
 * known here: the owner's work is ordered before the legacy default stream, for which any consumer can wait.
 */
static int find_by_dlpack(ModuleState *state, PyObject *object, ForeignArray *out)
{
    ForeignLayout layout;
    layout.dtype = NULL;
    layout.owner = NULL;
    layout.is_copy = false;
    int found = dlpack_describe_exchanged(state, object, false, out, &layout);
    if (found == 0) {
        found = dlpack_describe_exported(state, object, CU_STREAM_LEGACY, out, &layout);
        out->has_stream = true;
        out->stream = CU_STREAM_LEGACY;
    }
    if (found > 0 && layout.is_copy) {
        PyErr_SetString(PyExc_BufferError, "__dlpack__() made a copy: pass the result of from_dlpack()");
        found = -1;
    }
    if (found != 0) foreign_layout_clear(&layout);
    return found;
}

/* DLPack is tried if there is no __cuda_array_interface__, and preferred if that one is too old to name a
 * stream. */
int foreign_find(ModuleState *state, PyObject *object, ForeignArray *out)
{
    PyObject *interface;
    int found = convert_find_attribute(object, state->str___cuda_array_interface__, &interface);
    if (found == 0 && foreign_is_possible(state, object)) return find_by_dlpack(state, object, out);
    if (found <= 0) return found;
    if (foreign_read_interface(state, object, interface, out) < 0) found = -1;
    Py_DECREF(interface);
    if (found > 0 && out->unordered && dlpack_is_array(state, object))
        return find_by_dlpack(state, object, out);
    return found;
}

bool foreign_same_stream(CUstream a, CUstream b)
{
    return (a ? a : CU_STREAM_LEGACY) == (b ? b : CU_STREAM_LEGACY);
}

static int raise_stream(ModuleState *state, CUresult result, const char *routine, const ForeignArray *array)
{
    raise_driver(state, result, routine, "stream %p of a __cuda_array_interface__", (void *)array->stream);
    return -1;
}

int foreign_wait(ModuleState *state, const ForeignArray *array)
{
    if (!array->has_stream) return 0;
    CUresult result = try_cuStreamSynchronize(state, array->stream);
    return result == CUDA_SUCCESS ? 0 : raise_stream(state, result, "cuStreamSynchronize", array);
}

/* Records an event after the owner's work, for which the consumer waits. The stream of another context takes
 * no event of the current one: then this function itself waits for the stream's work. */
int foreign_order(ModuleState *state, const ForeignArray *array, CUstream consumer)
{
    CUevent event = NULL;
    if (!array->has_stream || foreign_same_stream(array->stream, consumer)) return 0;
    CUresult result = try_cuEventCreate(state, &event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) return raise_stream(state, result, "cuEventCreate", array);
    result = try_cuEventRecord(state, event, array->stream);
    bool recorded = result == CUDA_SUCCESS;
    if (recorded) result = try_cuStreamWaitEvent(state, consumer, event, 0);
    wait_drop_event(state, result, event);
    if (recorded && result != CUDA_SUCCESS) return raise_stream(state, result, "cuStreamWaitEvent", array);
    return recorded ? 0 : foreign_wait(state, array);
}
