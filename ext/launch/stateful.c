/* The interface of CUDA's first versions: block shape, shared memory and parameters are set one by one and
 * stay for the next launch. Deprecated: each call warns. The names with an underscore are the same methods.
 */
#include <stdlib.h>
#include <string.h>

#include "ext/base/errors.h"
#include "ext/convert/convert.h"
#include "ext/launch/arguments.h"
#include "ext/stream/stream.h"

/* The state of this function, made when first requested, after the warning. NULL with an exception. */
static StatefulLaunch *stateful(FunctionObject *function, const char *method)
{
    if (PyErr_WarnFormat(PyExc_DeprecationWarning, 1,
                         "Function.%s is deprecated: call the function with block= and "
                         "grid=, or prepare it",
                         method)
        < 0)
        return NULL;
    if (!function->stateful) {
        function->stateful = PyMem_Calloc(1, sizeof *function->stateful);
        if (!function->stateful) return (StatefulLaunch *)PyErr_NoMemory();
        function->stateful->block[0] = function->stateful->block[1] = function->stateful->block[2] = 1;
    }
    return function->stateful;
}

static int check_count(const char *method, Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted) return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, %zd given", method, wanted, given);
    return -1;
}

/* Writes into the parameter space, which grows as needed unless param_set_size fixed it. */
static int put_bytes(FunctionObject *function, StatefulLaunch *launch, size_t offset, const void *bytes,
                     size_t size)
{
    if (offset > sizeof launch->bytes || size > sizeof launch->bytes - offset) {
        PyErr_Format(PyExc_ValueError, "kernel '%s': the parameter space ends at %d bytes",
                     function_name(function), KERNEL_ARGS_STACK_BYTES);
        return -1;
    }
    memcpy(launch->bytes + offset, bytes, size);
    if (!launch->size_set && offset + size > launch->size) launch->size = offset + size;
    return 0;
}

static PyObject *set_block_shape(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "set_block_shape");
    if (!launch || check_count("set_block_shape", count, 3) < 0) return NULL;
    for (int axis = 0; axis < 3; axis++)
        if (convert_unsigned(args[axis], "block", &launch->block[axis]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_shared_size(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "set_shared_size");
    if (!launch || check_count("set_shared_size", count, 1) < 0
        || convert_unsigned(args[0], "bytes", &launch->shared_bytes) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *param_set_size(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "param_set_size");
    size_t size;
    if (!launch || check_count("param_set_size", count, 1) < 0 || convert_size(args[0], "bytes", &size) < 0)
        return NULL;
    if (size > sizeof launch->bytes) {
        PyErr_Format(PyExc_ValueError, "the parameter space ends at %d bytes", KERNEL_ARGS_STACK_BYTES);
        return NULL;
    }
    launch->size = size;
    launch->size_set = true;
    Py_RETURN_NONE;
}

static PyObject *param_seti(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "param_seti");
    size_t offset;
    if (!launch || check_count("param_seti", count, 2) < 0 || convert_size(args[0], "offset", &offset) < 0)
        return NULL;
    PyObject *index = PyNumber_Index(args[1]);
    if (!index) return NULL;
    unsigned value = (unsigned)PyLong_AsUnsignedLongMask(index);
    Py_DECREF(index);
    if (PyErr_Occurred() || put_bytes(function_cast(self), launch, offset, &value, sizeof value) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *param_setf(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "param_setf");
    size_t offset;
    if (!launch || check_count("param_setf", count, 2) < 0 || convert_size(args[0], "offset", &offset) < 0)
        return NULL;
    float value = (float)PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred() || put_bytes(function_cast(self), launch, offset, &value, sizeof value) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *param_setv(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *launch = stateful(function_cast(self), "param_setv");
    size_t offset;
    Py_buffer buffer;
    if (!launch || check_count("param_setv", count, 2) < 0 || convert_size(args[0], "offset", &offset) < 0
        || PyObject_GetBuffer(args[1], &buffer, PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    int failed = put_bytes(function_cast(self), launch, offset, buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Fills the parameter space with the arguments of param_set(). -1 with an exception. */
static int put_arguments(FunctionObject *function, StatefulLaunch *launch, const LaunchArgs *values)
{
    launch->size = 0;
    launch->size_set = false;
    if (!function->layout.known) {
        launch->size = launch_args_flatten(values, launch->bytes, sizeof launch->bytes);
        if (launch->size != (size_t)-1) return 0;
        launch->size = 0;
        PyErr_Format(PyExc_ValueError, "the parameter space ends at %d bytes", KERNEL_ARGS_STACK_BYTES);
        return -1;
    }
    for (Py_ssize_t i = 0; i < values->count; i++)
        if (put_bytes(function, launch, function->layout.params[i].offset, values->params[i],
                      function->layout.params[i].size)
            < 0)
            return -1;
    return 0;
}

static PyObject *param_set(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    FunctionObject *function = function_cast(self);
    StatefulLaunch *launch = stateful(function, "param_set");
    CUstream stream; /* the launch may name another: the current one is ordered after foreign work */
    LaunchArgs values;
    if (!launch || launch_read_stream(function->state, stream_or_current(function->state, NULL), &stream) < 0)
        return NULL;
    int failed = launch_args_read(&values, function, args, count, stream, NULL);
    if (!failed && values.handlers) {
        PyErr_SetString(PyExc_TypeError, "param_set takes no ArgumentHandler: their copies belong to a call");
        failed = -1;
    }
    if (!failed) failed = put_arguments(function, launch, &values);
    launch_args_clear(&values);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Launches with a copy of what is set now: another thread may change it before the driver has read it.
 * stream: the argument, NULL and None mean the current one. */
static PyObject *launch_grid_on(FunctionObject *function, const StatefulLaunch *set, unsigned width,
                                unsigned height, PyObject *stream)
{
    CUstream handle;
    StatefulLaunch now = *set;
    LaunchShape shape = {{width, height, 1}, {now.block[0], now.block[1], now.block[2]}, now.shared_bytes};
    if (function->layout.known && now.size < function->layout.bytes) {
        PyErr_Format(PyExc_TypeError, "kernel '%s' takes %u bytes of parameters, %zu were set",
                     function_name(function), function->layout.bytes, now.size);
        return NULL;
    }
    if (launch_read_stream(function->state, stream_or_current(function->state, stream), &handle) < 0
        || function_launch_buffer(function, &shape, NULL, handle, now.bytes, now.size) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *launch(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t count)
{
    StatefulLaunch *set = stateful(function_cast(self), "launch");
    if (!set || check_count("launch", count, 0) < 0) return NULL;
    return launch_grid_on(function_cast(self), set, 1, 1, NULL);
}

static PyObject *launch_grid(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *set = stateful(function_cast(self), "launch_grid");
    unsigned width, height;
    if (!set || check_count("launch_grid", count, 2) < 0 || convert_unsigned(args[0], "width", &width) < 0
        || convert_unsigned(args[1], "height", &height) < 0)
        return NULL;
    return launch_grid_on(function_cast(self), set, width, height, NULL);
}

static PyObject *launch_grid_async(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    StatefulLaunch *set = stateful(function_cast(self), "launch_grid_async");
    unsigned width, height;
    if (!set || check_count("launch_grid_async", count, 3) < 0
        || convert_unsigned(args[0], "width", &width) < 0 || convert_unsigned(args[1], "height", &height) < 0)
        return NULL;
    return launch_grid_on(function_cast(self), set, width, height, args[2]);
}

PyDoc_STRVAR(launch_kernel_doc,
             "_launch_kernel($self, grid, block, arg_bytes, shared_bytes, stream, /)\n--\n\n"
             "Launch with arguments that are packed already.\n"
             "\nNotes\n-----\n"
             "Calls cuLaunchKernel.");

static PyObject *launch_kernel(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    FunctionObject *function = function_cast(self);
    LaunchShape shape;
    CUstream stream;
    Py_buffer buffer;
    if (check_count("_launch_kernel", count, 5) < 0 || launch_read_grid(args[0], shape.grid) < 0
        || launch_read_block(args[1], shape.block) < 0
        || convert_unsigned(args[3], "shared_bytes", &shape.shared_bytes) < 0
        || launch_read_stream(function->state, stream_or_current(function->state, args[4]), &stream) < 0
        || PyObject_GetBuffer(args[2], &buffer, PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    int failed = function->layout.known && (size_t)buffer.len < function->layout.bytes;
    if (failed)
        PyErr_Format(PyExc_TypeError, "kernel '%s' takes %u bytes of parameters, %zd given",
                     function_name(function), function->layout.bytes, buffer.len);
    else
        failed = function_launch_buffer(function, &shape, NULL, stream, buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Each under its public name and, as older PyCUDA had it, with an underscore: X(name, parameters, text). */
#define STATEFUL_METHODS(X) \
    X(set_block_shape, "$self, x, y, z, /", \
      "Set the block of the next launch.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare " \
      "it.\n" \
      "\nParameters\n----------\n" \
      "x, y, z : int\n    Threads.") \
    X(set_shared_size, "$self, bytes, /", \
      "Set the dynamic shared memory of the next launch.\n\nDeprecated: call the function with block= and " \
      "grid=, or prepare it.\n" \
      "\nParameters\n----------\n" \
      "bytes : int") \
    X(param_set, "$self, /, *args", \
      "Set the arguments of the next launch.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare it.\n" \
      "\nParameters\n----------\n" \
      "*args : object\n    As of a plain call.") \
    X(param_set_size, "$self, bytes, /", \
      "Set the size of the parameter space.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare it.\n" \
      "\nParameters\n----------\n" \
      "bytes : int") \
    X(param_seti, "$self, offset, value, /", \
      "Write an int into the parameter space.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare it.\n" \
      "\nParameters\n----------\n" \
      "offset : int\n    Bytes.\n" \
      "value : int\n    Of 32 bits.") \
    X(param_setf, "$self, offset, value, /", \
      "Write a float into the parameter space.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare it.\n" \
      "\nParameters\n----------\n" \
      "offset : int\n    Bytes.\n" \
      "value : float\n    Of 32 bits.") \
    X(param_setv, "$self, offset, buffer, /", \
      "Write bytes into the parameter space.\n\nDeprecated: call the function with block= and grid=, or " \
      "prepare it.\n" \
      "\nParameters\n----------\n" \
      "offset : int\n    Bytes.\n" \
      "buffer : bytes-like") \
    X(launch, "$self", \
      "Launch one block on the default stream. Nothing waits for it.\n\n" \
      "Deprecated: call the function with block= and grid=, or prepare it.") \
    X(launch_grid, "$self, width, height, /", \
      "Launch blocks on the default stream. Nothing waits for them.\n\n" \
      "Deprecated: call the function with block= and grid=, or prepare it.\n" \
      "\nParameters\n----------\n" \
      "width, height : int\n    Blocks along two axes.") \
    X(launch_grid_async, "$self, width, height, stream, /", \
      "Launch blocks on a stream.\n\nDeprecated: call the function with block= and grid=, or prepare it.\n" \
      "\nParameters\n----------\n" \
      "width, height : int\n    Blocks along two axes.\n" \
      "stream : Stream or None")

PyMethodDef stateful_methods[] = {
#define ROW(name, text, parameters, doc) \
    {text, AS_METHOD(name), METH_FASTCALL, text "(" parameters ")\n--\n\n" doc},
#define X(name, parameters, doc) ROW(name, #name, parameters, doc) ROW(name, "_" #name, parameters, doc)
    STATEFUL_METHODS(X)
#undef X
#undef ROW
        {"_launch_kernel", AS_METHOD(launch_kernel), METH_FASTCALL, launch_kernel_doc},
    {NULL, NULL, 0, NULL},
};
