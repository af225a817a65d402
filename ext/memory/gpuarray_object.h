/* The GPUArray as memory and launches know it: an address with NumPy's description (ext/gpuarray/). */
#ifndef EXT_MEMORY_GPUARRAY_OBJECT_H
#define EXT_MEMORY_GPUARRAY_OBJECT_H

#include <stdatomic.h>

#include "ext/memory/device_memory.h"

struct _PyArray_Descr;

enum {
    GPUARRAY_INLINE_DIMS = 4, /* axes that an array has room for; with more, memory is allocated */
    GPUARRAY_AXIS_WORDS = 4 /* for each axis: shape and strides as in NumPy, then both in elements */
};
enum { GPUARRAY_C = 1, GPUARRAY_F = 2 }; /* bits of GPUArrayObject.layout */

typedef struct GPUArrayObject {
    PyObject_HEAD
    ModuleState *state;
    CUdeviceptr pointer;                    /* of element 0; 0 without elements */
    DeviceAllocationObject *allocation; /* owned: the memory; NULL when another kind of object holds it */
    struct _PyArray_Descr *dtype;           /* owned; NULL before __init__ */
    Py_ssize_t size, nbytes, itemsize;      /* nbytes is size * itemsize, whatever the strides */
    int ndim, layout;                       /* layout: GPUARRAY_C | GPUARRAY_F */
    int place;                              /* of memory without an allocation: array_device.h */
    bool read_only;                         /* as its library exported it, or made so */
    bool is_interleaved;                    /* made of parts of numbers, or of fields of records */
    bool is_part;                           /* a copy that z.real or z.imag made (parts.c) */
    Py_ssize_t *shape, *strides;            /* in `dims`, or owned when there are more axes */
    int64_t *elements;                      /* after `strides`: shape, strides in elements (DLPack) */
    Py_ssize_t dims[GPUARRAY_AXIS_WORDS * GPUARRAY_INLINE_DIMS];
    PyObject *gpudata;                      /* owned; NULL: made of `pointer` when requested */
    PyObject *base;                         /* owned; NULL: None */
    PyObject *allocator;                    /* owned; NULL: the default pool */
    PyObject *attributes;                   /* __dict__ */
    PyObject *weak_references;
    atomic_long changed; /* ModuleState.arrays_changed when its description last changed; 0: never */
} GPUArrayObject;

static inline GPUArrayObject *gpuarray_cast(PyObject *object) { return (GPUArrayObject *)object; }

static inline bool gpuarray_check(ModuleState *state, PyObject *object)
{
    return Py_TYPE(object) == state->GPUArray_type || PyType_IsSubtype(Py_TYPE(object), state->GPUArray_type);
}

/* Whether other data lies between the elements. Code that reads consecutive numbers from the address would
 * be wrong then. Programs written for PyCUDA may do that, as there the parts of complex numbers are arrays
 * of their own. */
static inline bool gpuarray_is_interleaved(const GPUArrayObject *array)
{
    return array->is_interleaved && !array->layout;
}

/* -1 with ValueError for an array that gpuarray_is_interleaved(). */
int gpuarray_check_whole(const GPUArrayObject *array);

/* -1 with LogicError when the array's memory was freed. */
int gpuarray_check_memory(GPUArrayObject *array);

/* *out: the address of element 0. -1 with the exception of gpuarray_check_memory(). */
int gpuarray_address(GPUArrayObject *array, CUdeviceptr *out);

/* The allocation that the object is or lies in, borrowed; NULL when that is not known. */
static inline DeviceAllocationObject *allocation_under(ModuleState *state, PyObject *object)
{
    if (device_allocation_check(state, object)) return device_allocation_cast(object);
    return gpuarray_check(state, object) ? gpuarray_cast(object)->allocation : NULL;
}

#endif
