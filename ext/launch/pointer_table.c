/* See pointer_table.h. */
#include "ext/launch/pointer_table.h"

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/launch/types.h"
#include "ext/memory/array_device.h"
#include "ext/memory/pooled_allocation.h"

enum { STACK_ADDRESSES = 128 };

/* Puts which item it is about before the text of the exception that is set. Returns -1. */
static int name_item(Py_ssize_t item)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(type, "item %zd of a list: %S", item, value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

/* Whether a launch can have a table. -1 with an exception. */
static int check_launch(FunctionObject *function, Py_ssize_t position, const PyObject *stream_object,
                        CUstream stream)
{
    if (!stream_object) {
        PyErr_Format(PyExc_TypeError,
                     "argument %zd of kernel '%s' is a list: the table of its addresses would live for one "
                     "launch only. Pass an array of addresses: numpy.uint64 of each gpudata",
                     position, function_name(function));
        return -1;
    }
    if (!captured_is(function->state, stream)) return 0;
    raise_logic(function->state,
                "argument %zd of kernel '%s' is a list: the table of its addresses would not live as long as "
                "the graph. Make an array of addresses (numpy.uint64 of each gpudata) before the capture",
                position, function_name(function));
    return -1;
}

/* Reads item i of the arrays. first: item 0, whose dtype the others must have. -1 with an exception. */
static int read_item(FunctionObject *function, Py_ssize_t position, Py_ssize_t i, PyObject *item,
                     PyObject *first, CUstream stream, CUdeviceptr *out)
{
    if (!gpuarray_check(function->state, item)) {
        PyErr_Format(
            PyExc_TypeError,
            "invalid type on parameter #%zd of kernel '%s' (0-based): item %zd of the list is %.200s, "
            "it must be a GPUArray",
            position, function_name(function), i, Py_TYPE(item)->tp_name);
        return -1;
    }
    PyArray_Descr *dtype = gpuarray_cast(item)->dtype, *expected = gpuarray_cast(first)->dtype;
    if (!PyArray_EquivTypes(dtype, expected)) {
        PyErr_Format(PyExc_TypeError,
                     "argument %zd of kernel '%s' is a list of arrays of several dtypes: item 0 has %S, item "
                     "%zd %S",
                     position, function_name(function), (PyObject *)expected, i, (PyObject *)dtype);
        return -1;
    }
    if (gpuarray_check_whole(gpuarray_cast(item)) < 0
        || array_device_require(gpuarray_cast(item), function->context) < 0
        || launch_args_address(function, position, item, stream, out) < 0)
        return name_item(i);
    return 0;
}

/* Memory with these addresses, after the work that is queued on the stream. NULL with an exception. */
static DeviceAllocationObject *copy_addresses(FunctionObject *function, const CUdeviceptr *addresses,
                                              Py_ssize_t count, PyObject *stream_object, CUstream stream)
{
    ModuleState *state = function->state;
    const size_t size = (size_t)count * sizeof *addresses;
    PyObject *memory = default_pool_allocate(state, function->context, size, stream_object);
    if (!memory) return NULL;
    /* The driver has read the addresses when this returns, as their memory is not page-locked. */
    if (gpu_cuMemcpyHtoDAsync(state, device_allocation_cast(memory)->pointer, addresses, size, stream) < 0)
        Py_CLEAR(memory);
    return memory ? device_allocation_cast(memory) : NULL;
}

/* pointer_table_new() for a tuple with items, after the checks of the launch. */
static DeviceAllocationObject *make_table(FunctionObject *function, Py_ssize_t position, PyObject *arrays,
                                          PyObject *stream_object, CUstream stream)
{
    CUdeviceptr stack[STACK_ADDRESSES], *addresses = stack;
    DeviceAllocationObject *memory = NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(arrays);
    PyObject *const *items = &PyTuple_GET_ITEM(arrays, 0);
    if (count > STACK_ADDRESSES && !(addresses = PyMem_New(CUdeviceptr, (size_t)count)))
        return (DeviceAllocationObject *)PyErr_NoMemory();
    int failed = 0;
    for (Py_ssize_t i = 0; i < count && !failed; i++)
        failed = read_item(function, position, i, items[i], items[0], stream, &addresses[i]);
    if (!failed)
        failed = parameter_types_check_table(function, position, (PyObject *)gpuarray_cast(items[0])->dtype);
    if (!failed) failed = pooled_note(function->state, items, count, stream_object, stream);
    if (!failed) memory = copy_addresses(function, addresses, count, stream_object, stream);
    if (addresses != stack) PyMem_Free(addresses);
    return memory;
}

DeviceAllocationObject *pointer_table_new(FunctionObject *function, Py_ssize_t position, PyObject *arrays,
                                          PyObject *stream_object, CUstream stream)
{
    DeviceAllocationObject *memory = NULL;
    if (check_launch(function, position, stream_object, stream) < 0) return NULL;
    PyObject *items = PySequence_Tuple(arrays); /* another thread may change a list meanwhile */
    if (!items) return NULL;
    if (PyTuple_GET_SIZE(items) > 0)
        memory = make_table(function, position, items, stream_object, stream);
    else
        PyErr_Format(PyExc_ValueError,
                     "argument %zd of kernel '%s' is an empty list: a null pointer is numpy.intp(0)",
                     position, function_name(function));
    Py_DECREF(items);
    return memory;
}
