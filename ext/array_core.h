/* GPUArray: an array in device memory with NumPy's description of it (shape, strides, dtype).
 *
 * Strides are in bytes and may be negative or zero; `pointer` is the address of element 0. Description and
 * memory do not change after construction, but `gpudata` and the like may be assigned by users who manage
 * memory themselves.
 */
#ifndef EXT_ARRAY_CORE_H
#define EXT_ARRAY_CORE_H

#include "ext/context.h"
#include "ext/device_memory.h"

struct _PyArray_Descr;

enum { ARRAY_INLINE_DIMS = 4, ARRAY_C = 1, ARRAY_F = 2 };

typedef struct GPUArrayObject {
    PyObject_HEAD
    ModuleState *state;
    CUdeviceptr pointer;                    /* of element 0; 0 without elements */
    DeviceAllocationObject *allocation; /* owned: what holds the memory, NULL when that is something else */
    struct _PyArray_Descr *dtype;           /* owned; NULL before __init__ */
    Py_ssize_t size, nbytes, itemsize;      /* nbytes is size * itemsize, whatever the strides */
    int ndim, layout;                       /* layout: ARRAY_C | ARRAY_F */
    Py_ssize_t *shape, *strides;            /* in `dims`, or owned when there are more axes */
    Py_ssize_t dims[2 * ARRAY_INLINE_DIMS];
    PyObject *gpudata;                      /* owned; NULL: made of `pointer` when asked for */
    PyObject *base, *allocator;             /* owned; NULL is None, and for the allocator mem_alloc */
    PyObject *attributes;                   /* __dict__ */
    PyObject *weak_references;
} GPUArrayObject;

static inline GPUArrayObject *array_cast(PyObject *object) { return (GPUArrayObject *)object; }

static inline bool array_check(ModuleState *state, PyObject *object)
{
    return Py_TYPE(object) == state->GPUArray_type || PyType_IsSubtype(Py_TYPE(object), state->GPUArray_type);
}

/* shape may be NULL where ndim is 0, as NumPy has it. */
bool array_has_shape(const GPUArrayObject *array, int ndim, const Py_ssize_t *shape);

/* LogicError (-1) when the memory was freed. */
int array_check_memory(GPUArrayObject *array);

/* A plain GPUArray over part of the memory of `parent`, which it keeps. dtype is a new reference given away,
 * also on failure. NULL with an exception. */
PyObject *array_new_view(GPUArrayObject *parent, struct _PyArray_Descr *dtype, int ndim,
                         const Py_ssize_t *shape, const Py_ssize_t *strides, CUdeviceptr pointer);

/* A new packed GPUArray with memory from `allocator` (NULL: mem_alloc). strides NULL: order 'C'. dtype as
 * above. */
PyObject *array_new(ModuleState *state, struct _PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                    const Py_ssize_t *strides, PyObject *allocator);

/* array_views.c */
PyObject *array_transpose(GPUArrayObject *array, const int *axes);      /* NULL: reversed */
/* A view where strides can give the shape, else a copy. The number of elements must be the same. */
PyObject *array_reshape_to(GPUArrayObject *array, int ndim, const Py_ssize_t *shape, char order);
PyObject *array_subscript(PyObject *self, PyObject *index);
PyObject *array_item(PyObject *self, Py_ssize_t i);
int array_views_setup(PyObject *module, ModuleState *state);

/* array_methods.c */
PyObject *array_get(PyObject *self, FAST_PARAMETERS);
PyObject *array_get_async(PyObject *self, FAST_PARAMETERS);
PyObject *array_set(PyObject *self, FAST_PARAMETERS);
PyObject *array_set_async(PyObject *self, FAST_PARAMETERS);
PyObject *array_copy(PyObject *self, FAST_PARAMETERS);
int array_methods_setup(PyObject *module, ModuleState *state);

int array_core_setup(PyObject *module, ModuleState *state);

#endif
