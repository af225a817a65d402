/* See device_pointer.h and gpuarray_object.h. */
#include "ext/memory/device_pointer.h"

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/convert/foreign.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/memory/pooled_allocation.h"

/* ---- GPUArrays ---- */

int gpuarray_check_memory(GPUArrayObject *array)
{
    const DeviceAllocationObject *allocation = array->allocation;
    if (!allocation) return 0;
    bool freed = atomic_load(&allocation->freed);
    if (!freed && !atomic_load(&allocation->context->dead)) return 0;
    raise_logic(array->state, "the memory of this GPUArray %s",
                freed ? "was freed" : "was freed with its context");
    return -1;
}

int gpuarray_address(GPUArrayObject *array, CUdeviceptr *out)
{
    *out = array->pointer;
    return gpuarray_check_memory(array) < 0 ? -1 : pooled_expose(array->allocation);
}

int gpuarray_check_whole(const GPUArrayObject *array)
{
    if (!gpuarray_is_interleaved(array)) return 0;
    PyErr_SetString(PyExc_ValueError, "the real and imaginary parts of an array and its fields are strided "
                                      "views: take the address of a copy()");
    return -1;
}

/* ---- Everything else ---- */

static int address_of_index(PyObject *value, CUdeviceptr *out)
{
    unsigned long long number = 0;
    if (convert_bits(value, "a device pointer", 64, &number) < 0) return -1;
    *out = (CUdeviceptr)number;
    return 0;
}

static int address_of_holder(ModuleState *state, PyObject *holder, CUdeviceptr *out)
{
    PyObject *pointer = PyObject_CallMethodNoArgs(holder, state->str_get_pointer);
    int status = pointer ? address_of_index(pointer, out) : -1;
    Py_XDECREF(pointer);
    return status;
}

DeviceAllocationObject *managed_memory_of(ModuleState *state, PyObject *array)
{
    PyObject *base = array;
    while (base && PyArray_Check(base)) base = PyArray_BASE((PyArrayObject *)base);
    if (base && device_allocation_check(state, base) && device_allocation_cast(base)->managed)
        return device_allocation_cast(base);
    return NULL;
}

static int refuse_stranger(PyObject *value)
{
    PyErr_Format(PyExc_TypeError,
                 "a device pointer is expected (DeviceAllocation, GPUArray, int, ...), not %s",
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* The address of an object that is neither a Python integer nor one of this module. consumer: the stream that
 * is ordered after the owner's work; NULL: this function waits for that work. */
static int address_of_stranger(ModuleState *state, PyObject *value, const CUstream *consumer,
                               CUdeviceptr *out)
{
    ForeignArray array;
    int found = foreign_find(state, value, &array);
    if (found < 0) return -1;
    if (found) {
        *out = array.pointer;
        return consumer ? foreign_order(state, &array, *consumer) : foreign_wait(state, &array);
    }
    if (PyIndex_Check(value) && !PyArray_Check(value)) return address_of_index(value, out);
    if (!PyArray_Check(value) || !managed_memory_of(state, value)) return refuse_stranger(value);
    *out = (CUdeviceptr)(uintptr_t)PyArray_DATA((PyArrayObject *)value);
    return 0;
}

/* convert_pointer(); consumer as in address_of_stranger(). */
static int pointer_of(ModuleState *state, PyObject *value, const CUstream *consumer, CUdeviceptr *out)
{
    if (device_allocation_check(state, value))
        return device_allocation_address(device_allocation_cast(value), out);
    if (PyLong_Check(value)) return address_of_index(value, out);
    if (gpuarray_check(state, value)) return gpuarray_address(gpuarray_cast(value), out);
    if (PyObject_TypeCheck(value, state->PointerHolderBase_type)) return address_of_holder(state, value, out);
    if (PyArray_IsScalar(value, Integer)) return address_of_index(value, out);
    return address_of_stranger(state, value, consumer, out);
}

int convert_pointer(ModuleState *state, PyObject *value, CUdeviceptr *out)
{
    return pointer_of(state, value, NULL, out);
}

/* -1 with an exception when `size` bytes from `address` on do not fit into the allocation under it. Memory
 * that belongs to no known allocation is not checked. */
static int check_fits(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr address)
{
    const DeviceAllocationObject *memory = allocation_under(state, value);
    if (!memory || size <= memory->size - (address - memory->pointer)) return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zu bytes are requested, but the allocation has %zu", what, size,
                 (size_t)(memory->size - (address - memory->pointer)));
    return -1;
}

int convert_range(ModuleState *state, PyObject *value, const char *what, size_t size, CUdeviceptr *out)
{
    return pointer_of(state, value, NULL, out) < 0 ? -1 : check_fits(state, value, what, size, *out);
}

int convert_range_on(ModuleState *state, PyObject *value, const char *what, size_t size, CUstream consumer,
                     CUdeviceptr *out)
{
    return pointer_of(state, value, &consumer, out) < 0 ? -1 : check_fits(state, value, what, size, *out);
}
