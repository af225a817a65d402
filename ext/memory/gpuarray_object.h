/* The GPUArray as memory and launches know it: an address with NumPy's description (ext/gpuarray/). */
#ifndef EXT_MEMORY_GPUARRAY_OBJECT_H
#define EXT_MEMORY_GPUARRAY_OBJECT_H

#include "ext/memory/device_memory.h"

struct _PyArray_Descr;

enum { GPUARRAY_INLINE_DIMS = 4, GPUARRAY_AXIS_WORDS = 4, GPUARRAY_C = 1, GPUARRAY_F = 2 };

typedef struct GPUArrayObject {
    PyObject_HEAD
    ModuleState *state;
    CUdeviceptr pointer;                    /* of element 0; 0 without elements */
    DeviceAllocationObject *allocation; /* owned: what holds the memory, NULL when that is something else */
    struct _PyArray_Descr *dtype;           /* owned; NULL before __init__ */
    Py_ssize_t size, nbytes, itemsize;      /* nbytes is size * itemsize, whatever the strides */
    int ndim, layout;                       /* layout: GPUARRAY_C | GPUARRAY_F */
    bool read_only;                         /* its library said so, or it was made read-only */
    bool is_interleaved;                    /* made of parts of numbers, or of fields of records */
    bool is_part;                           /* a copy that z.real or z.imag made (parts.c) */
    Py_ssize_t *shape, *strides;            /* in `dims`, or owned when there are more axes */
    int64_t *elements;                      /* behind these two: both in elements, for DLPack (dlpack.h) */
    Py_ssize_t dims[GPUARRAY_AXIS_WORDS * GPUARRAY_INLINE_DIMS];
    PyObject *gpudata;                      /* owned; NULL: made of `pointer` when asked for */
    PyObject *base, *allocator;             /* owned; NULL is None, and the default pool */
    PyObject *attributes;                   /* __dict__ */
    PyObject *weak_references;
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

/* ValueError (-1) for an array that gpuarray_is_interleaved(). */
int gpuarray_check_whole(const GPUArrayObject *array);

/* LogicError (-1) when the memory was freed. */
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
