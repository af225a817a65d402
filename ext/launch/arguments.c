/* Kernel arguments: see ext/launch/arguments.h. The order in which kinds are tried is that of PyCUDA. */
#include "ext/launch/arguments.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/convert/foreign.h"
#include "ext/launch/ctypes_argument.h"
#include "ext/launch/pointer_table.h"
#include "ext/launch/types.h"
#include "ext/memory/array_device.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/texture/texture.h"
#include <numpy/arrayscalars.h>

/* NumPy's scalars and our own types, in the order in which they are tried when the hint fails. */
#define NUMPY_SCALARS(X) \
    X(Int, npy_int) \
    X(Float, npy_float) \
    X(Long, npy_long) \
    X(Double, npy_double) \
    X(UInt, npy_uint) \
    X(ULong, npy_ulong) \
    X(LongLong, npy_longlong) \
    X(ULongLong, npy_ulonglong) \
    X(Short, npy_short) \
    X(UShort, npy_ushort) \
    X(Byte, npy_byte) \
    X(UByte, npy_ubyte) \
    X(Half, npy_half) \
    X(Bool, npy_bool) \
    X(CFloat, npy_cfloat) \
    X(CDouble, npy_cdouble)

enum {
    KIND_GPU_ARRAY,
    KIND_ALLOCATION,
    KIND_POOLED_ALLOCATION,
#define X(name, type) KIND_##name,
    NUMPY_SCALARS(X)
#undef X
        KIND_COUNT
};

/* TypeError for an argument that cannot be passed. Returns -1. */
static int raise_type(FunctionObject *function, Py_ssize_t position, PyObject *argument)
{
    const char *advice = "";
    if (PyBool_Check(argument))
        advice = ": use numpy.bool_";
    else if (PyLong_Check(argument))
        advice = ": C's integers have several sizes, choose one (numpy.int32, numpy.intp, ...)";
    else if (PyFloat_Check(argument))
        advice = ": use numpy.float32 or numpy.float64";
    else if (PyComplex_Check(argument))
        advice = ": use numpy.complex64 or numpy.complex128";
    else if (argument == Py_None)
        advice = ": a null pointer is numpy.intp(0)";
    PyErr_Format(PyExc_TypeError,
                 "invalid type on parameter #%zd of kernel '%s' (0-based): %.200s cannot be passed%s",
                 position, function_name(function), Py_TYPE(argument)->tp_name, advice);
    return -1;
}

int launch_args_check_allocation(FunctionObject *function, Py_ssize_t position,
                                 DeviceAllocationObject *allocation)
{
    if (atomic_load_explicit(&allocation->freed, memory_order_relaxed)) {
        raise_logic(function->state, "argument %zd of kernel '%s': the DeviceAllocation was freed", position,
                    function_name(function));
        return -1;
    }
    if (atomic_load_explicit(&allocation->context->dead, memory_order_relaxed)) {
        raise_logic(function->state, "argument %zd of kernel '%s': the memory was freed with its context",
                    position, function_name(function));
        return -1;
    }
    return 0;
}

/* Whether the allocation is of the function's context and was not freed. False needs a closer look. */
static bool allocation_is_usable(const FunctionObject *function, const DeviceAllocationObject *allocation)
{
    return allocation->context == function->context
           && !atomic_load_explicit(&allocation->freed, memory_order_relaxed);
}

/* Reads an argument whose type has this row in the table of kinds. */
static inline int read_kind(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                            const ArgumentKind *kind, ArgumentValue *out)
{
    DeviceAllocationObject *allocation = NULL;
    if (kind->how == ARGUMENT_ARRAY) {
        allocation = gpuarray_cast(argument)->allocation;
        if (gpuarray_check_whole(gpuarray_cast(argument)) < 0) return -1;
    } else if (kind->how == ARGUMENT_ALLOCATION)
        allocation = device_allocation_cast(argument);
    if (allocation && !allocation_is_usable(function, allocation)
        && launch_args_check_allocation(function, position, allocation) < 0)
        return -1;
    if (kind->how == ARGUMENT_ARRAY && array_device_require(gpuarray_cast(argument), function->context) < 0)
        return -1;
    *out = (ArgumentValue){(const char *)argument + kind->where, kind->size, kind->alignment};
    return 0;
}

/* *out: an argument that is an address, which is stored in *scratch. */
static void use_address(ArgumentValue *out, CUdeviceptr *scratch, CUdeviceptr address)
{
    *scratch = address;
    *out = (ArgumentValue){scratch, sizeof *scratch, sizeof *scratch};
}

/* Appends to a list, which is created when it is first needed. -1 with an exception. */
static int append_kept(PyObject **list, PyObject *object)
{
    if (!*list && !(*list = PyList_New(0))) return -1;
    return PyList_Append(*list, object);
}

/* Whether kernels can take values of this dtype: no long double, dates, text or Python objects. */
static bool is_kernel_type(PyArray_Descr *dtype)
{
    if (dtype->type_num == NPY_LONGDOUBLE || dtype->type_num == NPY_CLONGDOUBLE || PyDataType_REFCHK(dtype))
        return false;
    return PyTypeNum_ISUSERDEF(dtype->type_num) || strchr("biufcV", dtype->kind) != NULL;
}

/* Reads a NumPy scalar whose type has no row in the table of kinds: a structure, or a scalar of a dtype that
 * another library registered, such as bfloat16. *out points into an array that launch->keep holds. -1 with an
 * exception; *out is then not valid. */
static int read_other_scalar(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    PyObject *array = PyArray_FromScalar(argument, NULL);
    if (!array) return -1;
    PyArray_Descr *dtype = PyArray_DESCR((PyArrayObject *)array);
    int failed = convert_check_byte_order(dtype, "a kernel's argument");
    if (!failed)
        failed = is_kernel_type(dtype) ? append_kept(&launch->keep, array)
                                       : raise_type(launch->function, position, argument);
    size_t size = (size_t)PyDataType_ELSIZE(dtype);
    size_t alignment = (size_t)PyDataType_ALIGNMENT(dtype);
    if (alignment <= 1)     /* NumPy packs structures by default; C does not */
        alignment = kernel_layout_natural_alignment(size);
    *out = (ArgumentValue){PyArray_DATA((PyArrayObject *)array), (uint32_t)size, (uint32_t)alignment};
    Py_DECREF(array);
    return failed;
}

/* PARAMETER_STRUCTURE if a host array is passed by value. A 0-d array always is; another array is if it has
 * exactly the parameter's size and the parameter is no pointer. PARAMETER_UNKNOWN: the parameter may be a
 * pointer or a structure of its size. PARAMETER_PLAIN: the array is not passed by value. */
static ParameterForm form_for(FunctionObject *function, Py_ssize_t position, PyArrayObject *array)
{
    size_t size = (size_t)PyArray_NBYTES(array);
    if (PyArray_NDIM(array) == 0) return PARAMETER_STRUCTURE;
    if (!function->layout.known) return size == sizeof(CUdeviceptr) ? PARAMETER_UNKNOWN : PARAMETER_PLAIN;
    if (function->layout.params[position].size != size) return PARAMETER_PLAIN;
    return size == sizeof(CUdeviceptr) ? parameter_types_form(function, position) : PARAMETER_STRUCTURE;
}

/* Raises TypeError for a host array. may_be_value: the parameter may be a structure, which the message says.
 * Returns -1. */
static int refuse_host_array(FunctionObject *function, Py_ssize_t position, bool may_be_value)
{
    PyErr_Format(PyExc_TypeError,
                 "argument %zd of kernel '%s' is a NumPy array on the host: wrap it in drv.In, drv.Out "
                 "or drv.InOut, or copy it with to_device%s",
                 position, function_name(function),
                 may_be_value
                     ? ", where the parameter is a pointer; where it is a structure or a vector of 8 bytes, "
                       "pass them by value as array.view('V8')[0]"
                     : "");
    return -1;
}

/* Reads a host array: its address if it is in managed memory, or its value. -1 with TypeError for others. */
static int read_ndarray(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    FunctionObject *function = launch->function;
    PyArrayObject *array = (PyArrayObject *)argument;
    DeviceAllocationObject *managed = managed_memory_of(function->state, argument);
    if (managed) {
        if (launch_args_check_allocation(function, position, managed) < 0) return -1;
        use_address(out, &launch->scratch[position], (CUdeviceptr)(uintptr_t)PyArray_DATA(array));
        return 0;
    }
    ParameterForm form = form_for(function, position, array);
    if (form != PARAMETER_STRUCTURE || !is_kernel_type(PyArray_DESCR(array)))
        return refuse_host_array(function, position, form == PARAMETER_UNKNOWN);
    if (!PyArray_IS_C_CONTIGUOUS(array)) {
        PyErr_Format(PyExc_TypeError,
                     "argument %zd of kernel '%s': an array passed by value must be C-contiguous", position,
                     function_name(function));
        return -1;
    }
    if (convert_check_byte_order(PyArray_DESCR(array), "a kernel's argument") < 0) return -1;
    size_t size = (size_t)PyArray_NBYTES(array),
           alignment = (size_t)PyDataType_ALIGNMENT(PyArray_DESCR(array));
    if (alignment <= 1) alignment = kernel_layout_natural_alignment((size_t)PyArray_ITEMSIZE(array));
    *out = (ArgumentValue){PyArray_DATA(array), (uint32_t)size, (uint32_t)alignment};
    return 0;
}

bool launch_is_eager(ModuleState *state, CUstream stream, bool timed)
{
    if (!captured_is(state, stream)) return true;
    raise_logic(state, "%s cannot be captured: they take effect at once, not when the graph is launched",
                timed ? "time_kernel's events" : "In, Out and InOut");
    return false;
}

/* Checks the dtype of the array of an In, Out or InOut. -1 with an exception. */
static int check_handled(FunctionObject *function, Py_ssize_t position, PyObject *handler)
{
    PyObject *array = function->types ? PyObject_GetAttrString(handler, "array") : NULL;
    int failed = 0;
    if (array && PyArray_Check(array))
        failed = parameter_types_check_elements(function, position,
                                                (PyObject *)PyArray_DESCR((PyArrayObject *)array));
    else
        PyErr_Clear(); /* handlers that a program defines need not have the attribute */
    Py_XDECREF(array);
    return failed;
}

/* Reads an ArgumentHandler: the address of its device memory, 0 if it has none. */
static int read_handler(LaunchArgs *launch, Py_ssize_t position, PyObject *handler, ArgumentValue *out)
{
    FunctionObject *function = launch->function;
    ModuleState *state = function->state;
    CUdeviceptr address = 0;
    if (!launch_is_eager(state, launch->stream, false) || check_handled(function, position, handler) < 0)
        return -1;
    PyObject *allocation = PyObject_CallMethodNoArgs(handler, state->str_get_device_alloc);
    if (!allocation) return -1;
    int failed = allocation == Py_None ? 0 : convert_pointer(state, allocation, &address);
    if (!failed && device_allocation_check(state, allocation))
        failed = launch_args_check_allocation(function, position, device_allocation_cast(allocation));
    if (!failed)
        failed = append_kept(&launch->handlers, handler) < 0 || append_kept(&launch->keep, allocation) < 0
                     ? -1
                     : 0;
    Py_DECREF(allocation);
    use_address(out, &launch->scratch[position], address);
    return failed;
}

/* *out: the address of an object with an attribute `gpudata`, which is None for an array without elements. 1;
 * 0 for other objects; -1 with an exception. */
static int address_of_gpudata(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                              CUdeviceptr *out)
{
    PyObject *gpudata;
    int found = convert_find_attribute(argument, function->state->str_gpudata, &gpudata);
    if (found <= 0) return found;
    *out = 0;
    int failed = gpudata == Py_None ? 0 : convert_pointer(function->state, gpudata, out);
    if (!failed && device_allocation_check(function->state, gpudata))
        failed = launch_args_check_allocation(function, position, device_allocation_cast(gpudata));
    Py_DECREF(gpudata);
    return failed ? -1 : 1;
}

/* *out: the address that an argument stands for. 1; 0 for integers and for objects without an address; -1
 * with an exception. */
static int address_of_object(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                             CUstream stream, CUdeviceptr *out)
{
    ModuleState *state = function->state;
    ForeignArray array;
    if (device_allocation_check(state, argument)) {
        DeviceAllocationObject *allocation = device_allocation_cast(argument);
        *out = allocation->pointer;
        return launch_args_check_allocation(function, position, allocation) < 0 ? -1 : 1;
    }
    if (gpuarray_check(state, argument)) {
        const GPUArrayObject *ours = gpuarray_cast(argument);
        *out = ours->pointer;
        if (ours->allocation && launch_args_check_allocation(function, position, ours->allocation) < 0)
            return -1;
        return array_device_require(gpuarray_cast(argument), function->context) < 0 ? -1 : 1;
    }
    if (PyObject_TypeCheck(argument, state->PointerHolderBase_type))
        return convert_pointer(state, argument, out) < 0 ? -1 : 1;
    int found = foreign_find(state, argument, &array);
    if (found > 0) {
        *out = array.pointer;
        bool failed = foreign_check_place(state, &array) < 0 || foreign_order(state, &array, stream) < 0;
        return failed ? -1 : 1;
    }
    return found < 0 ? -1 : address_of_gpudata(function, position, argument, out);
}

int launch_args_address(FunctionObject *function, Py_ssize_t position, PyObject *argument, CUstream stream,
                        CUdeviceptr *out)
{
    int found = 0;
    const ModuleState *state = function->state;
    const PyTypeObject *type = Py_TYPE(argument);
    if (type == state->GPUArray_type) {
        DeviceAllocationObject *allocation = gpuarray_cast(argument)->allocation;
        *out = gpuarray_cast(argument)->pointer;
        if (allocation && allocation_is_usable(function, allocation)) return 0;
    } else if (type == state->PooledDeviceAllocation_type || type == state->DeviceAllocation_type) {
        *out = device_allocation_cast(argument)->pointer;
        if (allocation_is_usable(function, device_allocation_cast(argument))) return 0;
    } else if (PyLong_CheckExact(argument)) {
        *out = PyLong_AsUnsignedLongLong(argument);
        if (*out != (CUdeviceptr)-1 || !PyErr_Occurred()) return 0;
        PyErr_Clear();
    }
    if (!PyLong_CheckExact(argument)) found = address_of_object(function, position, argument, stream, out);
    if (found == 0 && PyArray_Check(argument) && !managed_memory_of(function->state, argument))
        return refuse_host_array(function, position, false);
    if (found == 0 && (PyFloat_Check(argument) || argument == Py_None))
        return raise_type(function, position, argument);
    if (found == 0 && convert_pointer(function->state, argument, out) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return raise_type(function, position, argument);
    }
    return found < 0 ? -1 : 0;
}

static int read_ctypes(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    PyObject *view = NULL;
    int found = ctypes_argument(argument, &view, out);
    if (found > 0 && append_kept(&launch->keep, view) < 0) found = -1;
    Py_XDECREF(view);
    return found > 0 ? 0 : found < 0 ? -1 : raise_type(launch->function, position, argument);
}

/* Reads a list of arrays: the address of a table of their addresses. */
static int read_list(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    DeviceAllocationObject *table =
        pointer_table_new(launch->function, position, argument, launch->stream_object, launch->stream);
    if (!table) return -1;
    use_address(out, &launch->scratch[position], table->pointer);
    int failed = append_kept(&launch->keep, (PyObject *)table);
    Py_DECREF((PyObject *)table);
    return failed;
}

/* Reads an argument whose type has no row in the table of kinds. */
static int read_slowly(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    FunctionObject *function = launch->function;
    ModuleState *state = function->state;
    CUdeviceptr address = 0;
    if (PyArray_CheckScalar(argument) && !PyArray_Check(argument))
        return read_other_scalar(launch, position, argument, out);
    if (PyObject_TypeCheck(argument, state->ArgumentHandler_type))
        return read_handler(launch, position, argument, out);
    if (PyArray_Check(argument)) return read_ndarray(launch, position, argument, out);
    if (pointer_table_is(argument)) return read_list(launch, position, argument, out);
    if (PyLong_Check(argument) || PyFloat_Check(argument) || argument == Py_None)
        return raise_type(function, position, argument);
    int found = texture_argument(state, argument, &address);
    if (found == 0) found = address_of_object(function, position, argument, launch->stream, &address);
    if (found == 0) return read_ctypes(launch, position, argument, out);
    use_address(out, &launch->scratch[position], address);
    return found > 0 ? 0 : -1;
}

static int read_argument(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *out)
{
    FunctionObject *function = launch->function;
    const ArgumentKind *kinds = launch_args_kinds(function->state);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (kinds[kind].type == Py_TYPE(argument)) {
            bool may_remember = true;
            if (function->types
                && parameter_types_check(function, position, argument, &kinds[kind], &may_remember) < 0)
                return -1;
            if (may_remember && position < KERNEL_ARGS_STACK_COUNT)
                atomic_store_explicit(&function->hints[position], (uint8_t)kind, memory_order_relaxed);
            return read_kind(function, position, argument, &kinds[kind], out);
        }
    }
    return read_slowly(launch, position, argument, out);
}

/* Sets the hint to CDouble, of 16 bytes: no parameter of known type has that size, so the fast path never
 * matches. */
void launch_args_expect_none(FunctionObject *function, Py_ssize_t position)
{
    if (position < KERNEL_ARGS_STACK_COUNT)
        atomic_store_explicit(&function->hints[position], KIND_CDouble, memory_order_relaxed);
}

/* Sets params, values and scratch: on the stack if they are long enough, else on the heap. */
static int choose_arrays(LaunchArgs *launch)
{
    size_t count = (size_t)launch->count;
    launch->params = launch->stack_params;
    launch->values = launch->stack_values;
    launch->scratch = launch->stack_scratch;
    if (count <= KERNEL_ARGS_STACK_COUNT) return 0;
    launch->heap = PyMem_Malloc(count * (sizeof(ArgumentValue) + sizeof(CUdeviceptr) + sizeof(void *)));
    if (!launch->heap) {
        PyErr_NoMemory();
        return -1;
    }
    launch->values = launch->heap;
    launch->scratch = (CUdeviceptr *)(launch->values + count);
    launch->params = (void **)(launch->scratch + count);
    return 0;
}

static int raise_count(FunctionObject *function, Py_ssize_t count)
{
    PyErr_Format(PyExc_TypeError, "kernel '%s' takes %u argument%s, %zd given", function_name(function),
                 function->layout.count, function->layout.count == 1 ? "" : "s", count);
    return -1;
}

/* Advice on the NumPy scalars for a parameter of this size; "" for other sizes. */
static const char *scalars_of(size_t size)
{
    switch (size) {
    case 8:
        return ": pass numpy.uintp for a size_t or a pointer, numpy.int64 for a long, numpy.float64 for a "
               "double";
    case 4: return ": pass numpy.int32 or numpy.uint32 for an integer, numpy.float32 for a float";
    case 2: return ": pass numpy.int16 or numpy.uint16 for an integer, numpy.float16 for a half";
    case 1: return ": pass numpy.int8 or numpy.uint8 for an integer, numpy.bool_ for a bool";
    default: return "";
    }
}

static int raise_size(FunctionObject *function, Py_ssize_t position, PyObject *argument, size_t size)
{
    size_t wanted = function->layout.params[position].size;
    PyErr_Format(PyExc_TypeError,
                 "kernel '%s': argument %zd has %zu bytes (%.200s), the kernel's parameter has %zu%s",
                 function_name(function), position, size, Py_TYPE(argument)->tp_name, wanted,
                 PyArray_CheckScalar(argument) ? scalars_of(wanted) : "");
    return -1;
}

/* Whether the number fits into `size` bytes, as a signed or an unsigned integer. *out: its bits. */
static bool fits_bytes(PyObject *number, size_t size, CUdeviceptr *out)
{
    int overflow, unused = (int)(64 - 8 * size);
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    *out = overflow ? PyLong_AsUnsignedLongLong(number) : (CUdeviceptr)value;
    if (PyErr_Occurred()) PyErr_Clear();
    if (overflow) return overflow > 0 && unused == 0;
    return value < 0 ? value >= LLONG_MIN >> unused : (CUdeviceptr)value <= ULLONG_MAX >> unused;
}

/* Converts a NumPy integer whose size is not the parameter's, but only if the driver or the source says that
 * the parameter is an integer: by its size it could be a double. 1 when *value was set; 0 when it cannot be
 * converted; -1 with an exception. */
static int resize_integer(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *value)
{
    uint32_t size = launch->function->layout.params[position].size;
    if (!PyArray_IsScalar(argument, Integer) || size > sizeof(CUdeviceptr)
        || !parameter_types_is_integer(launch->function, position))
        return 0;
    PyObject *number = PyNumber_Index(argument);
    if (!number) return -1;
    bool fits = fits_bytes(number, size, &launch->scratch[position]);
    Py_DECREF(number);
    if (fits) *value = (ArgumentValue){&launch->scratch[position], size, size};
    return fits;
}

/* Called for an argument of another size than the parameter: converts it, or raises TypeError. */
static int refuse_size(LaunchArgs *launch, Py_ssize_t position, PyObject *argument, ArgumentValue *value)
{
    int taken = resize_integer(launch, position, argument, value);
    return taken ? taken < 0 ? -1 : 0 : raise_size(launch->function, position, argument, value->size);
}

/* The usual case: an object of the kind that was seen last at its position, of the parameter's size, whose
 * memory, if it has any, is usable. */
static inline bool is_plain(const FunctionObject *function, PyObject *argument, const ArgumentKind *kind,
                            uint32_t size)
{
    if (kind->type != Py_TYPE(argument) || kind->size != size) return false;
    if (kind->how == ARGUMENT_VALUE) return true;
    if (kind->how == ARGUMENT_ARRAY && gpuarray_cast(argument)->is_interleaved) return false;
    if (kind->how == ARGUMENT_ALLOCATION)
        return allocation_is_usable(function, device_allocation_cast(argument));
    const DeviceAllocationObject *allocation = gpuarray_cast(argument)->allocation;
    return allocation ? allocation_is_usable(function, allocation)
                      : array_device_is(gpuarray_cast(argument), function->context);
}

/* Reads an argument that has no fast path. */
static int read_checked(LaunchArgs *launch, Py_ssize_t position, PyObject *argument)
{
    const KernelLayout *layout = &launch->function->layout;
    ArgumentValue *value = &launch->values[position];
    if (read_argument(launch, position, argument, value) < 0) return -1;
    if (layout->known && value->size != layout->params[position].size
        && refuse_size(launch, position, argument, value) < 0)
        return -1;
    launch->params[position] = (void *)(uintptr_t)value->data;
    return 0;
}

int launch_args_read(LaunchArgs *launch, FunctionObject *function, PyObject *const *args, Py_ssize_t count,
                     CUstream stream, PyObject *stream_object)
{
    const ArgumentKind *kinds = launch_args_kinds(function->state);
    const KernelLayout *layout = &function->layout;
    launch->function = function;
    launch->count = count;
    launch->stream = stream;
    launch->stream_object = stream_object;
    launch->heap = NULL;
    launch->handlers = launch->keep = NULL;
    if (layout->known && count != (Py_ssize_t)layout->count) return raise_count(function, count);
    if (choose_arrays(launch) < 0) return -1;
    void **params = launch->params;
    Py_ssize_t hinted = !layout->known                    ? 0
                        : count < KERNEL_ARGS_STACK_COUNT ? count
                                                          : KERNEL_ARGS_STACK_COUNT;
    for (Py_ssize_t i = 0; i < hinted; i++) {
        const ArgumentKind *kind = &kinds[atomic_load_explicit(&function->hints[i], memory_order_relaxed)];
        if (is_plain(function, args[i], kind, layout->params[i].size))
            params[i] = (char *)args[i] + kind->where;
        else if (read_checked(launch, i, args[i]) < 0)
            return -1;
    }
    for (Py_ssize_t i = hinted; i < count; i++)
        if (read_checked(launch, i, args[i]) < 0) return -1;
    return 0;
}

void launch_args_clear(LaunchArgs *launch)
{
    Py_XDECREF(launch->handlers);
    Py_XDECREF(launch->keep);
    PyMem_Free(launch->heap);
}

size_t launch_args_flatten(const LaunchArgs *launch, unsigned char *bytes, size_t capacity)
{
    size_t end = 0;
    for (Py_ssize_t i = 0; i < launch->count; i++) {
        const ArgumentValue *value = &launch->values[i];
        size_t offset = kernel_layout_align(end, value->alignment);
        if (offset + value->size > capacity) return (size_t)-1;
        memset(bytes + end, 0, offset - end);
        memcpy(bytes + offset, value->data, value->size);
        end = offset + value->size;
    }
    return end;
}

static void fill_kinds(ModuleState *state, ArgumentKind *kinds)
{
    kinds[KIND_GPU_ARRAY] = (ArgumentKind){state->GPUArray_type, ARGUMENT_ARRAY, sizeof(CUdeviceptr),
                                           _Alignof(CUdeviceptr), offsetof(GPUArrayObject, pointer)};
    kinds[KIND_ALLOCATION] =
        (ArgumentKind){state->DeviceAllocation_type, ARGUMENT_ALLOCATION, sizeof(CUdeviceptr),
                       _Alignof(CUdeviceptr), offsetof(DeviceAllocationObject, pointer)};
    kinds[KIND_POOLED_ALLOCATION] = kinds[KIND_ALLOCATION];
    kinds[KIND_POOLED_ALLOCATION].type = state->PooledDeviceAllocation_type;
#define X(name, type) \
    kinds[KIND_##name] = (ArgumentKind){&Py##name##ArrType_Type, ARGUMENT_VALUE, sizeof(type), \
                                        _Alignof(type), offsetof(Py##name##ScalarObject, obval)};
    NUMPY_SCALARS(X)
#undef X
}

void launch_args_fill_kinds(ModuleState *state)
{
    fill_kinds(state, (ArgumentKind *)PyBytes_AS_STRING(state->argument_kinds));
}

int launch_args_setup(PyObject *module, ModuleState *state)
{
    (void)module;
    state->argument_kinds = PyBytes_FromStringAndSize(NULL, KIND_COUNT * sizeof(ArgumentKind));
    if (!state->argument_kinds) return -1;
    launch_args_fill_kinds(state);
    return 0;
}
