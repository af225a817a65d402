/* GPUArray: an array in device memory with NumPy's description of it (shape, strides, dtype).
 *
 * Strides are in bytes and may be negative or zero; `pointer` is the address of element 0. The description
 * changes only by a.shape = , a.strides = and a.dtype = (in_place.c), the memory only by a.gpudata = of
 * programs that manage it themselves. */
#ifndef EXT_GPUARRAY_GPUARRAY_H
#define EXT_GPUARRAY_GPUARRAY_H

#include "ext/memory/gpuarray_object.h"

/* Whether the array has this shape, which may be NULL if ndim is 0, as in NumPy. */
static inline bool gpuarray_has_shape(const GPUArrayObject *array, int ndim, const Py_ssize_t *shape)
{
    bool same = array->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = array->shape[i] == shape[i];
    return same;
}

/* -1 with ValueError when the array is read-only. */
int gpuarray_check_writable(const GPUArrayObject *array);

/* The stream that the array's memory belongs to (pooled_stream), else CU_STREAM_LEGACY; never NULL. */
CUstream gpuarray_stream(const GPUArrayObject *array);

/* ext/gpuarray/dlpack.c: orders work that is queued on `consumer` from now on after the work on the array,
 * on all streams on which the array is known to have been used. Does not wait. -1 with an exception. */
int gpuarray_order(GPUArrayObject *array, CUstream consumer);

/* A plain GPUArray over memory that `owner` keeps; NULL: no object keeps it. Takes the caller's reference to
 * dtype, also on failure. NULL with an exception. */
PyObject *gpuarray_new_over(ModuleState *state, struct _PyArray_Descr *dtype, int ndim,
                            const Py_ssize_t *shape, const Py_ssize_t *strides, CUdeviceptr pointer,
                            PyObject *owner);

/* As gpuarray_new_over(), over part of the memory of `parent`, which the new array keeps. */
PyObject *gpuarray_new_view(GPUArrayObject *parent, struct _PyArray_Descr *dtype, int ndim,
                            const Py_ssize_t *shape, const Py_ssize_t *strides, CUdeviceptr pointer);

/* A new packed GPUArray with memory from `allocator` (NULL, None: the default pool) for work on `stream`
 * (NULL, None: the default stream). strides NULL: order 'C'. Takes the caller's reference to dtype, also on
 * failure. NULL with an exception. */
PyObject *gpuarray_new(ModuleState *state, struct _PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                       const Py_ssize_t *strides, PyObject *allocator, PyObject *stream);
/* As gpuarray_new(), with the shape of `like`, which is C-contiguous, and order 'C'. dtype is borrowed.
 * context: the current one. */
PyObject *gpuarray_new_like(const GPUArrayObject *like, ContextObject *context, struct _PyArray_Descr *dtype,
                            PyObject *allocator, PyObject *stream);
/* As gpuarray_new(), for callers that know the current context. */
PyObject *gpuarray_new_in(ModuleState *state, ContextObject *context, struct _PyArray_Descr *dtype, int ndim,
                          const Py_ssize_t *shape, const Py_ssize_t *strides, PyObject *allocator,
                          PyObject *stream);

/* ext/gpuarray/views.c */
PyObject *gpuarray_transpose(GPUArrayObject *array, const int *axes); /* NULL: reversed */
/* A view where strides can give the shape, else a copy, queued on the stream (NULL, None: the current one).
 * The number of elements must be the same. */
PyObject *gpuarray_reshape_to(GPUArrayObject *array, int ndim, const Py_ssize_t *shape, char order,
                              PyObject *stream);
/* Reads a shape for as many elements as the array has, from integers or one sequence; one length may be -1.
 * The number of axes, or -1 with an exception. */
int gpuarray_read_shape(GPUArrayObject *array, PyObject *const *args, Py_ssize_t count, Py_ssize_t *shape);
/* Raises ValueError: too many axes. */
void gpuarray_raise_ndim(void);
/* Raises ValueError: the value is no order. Returns 0. */
char gpuarray_raise_order(PyObject *value);
/* A view as another dtype; takes the caller's reference to dtype. axis: the contiguous axis whose length
 * changes if the dtypes' sizes differ; -1: there is none. NULL with an exception. */
PyObject *gpuarray_view_as(GPUArrayObject *array, struct _PyArray_Descr *dtype, int axis);
PyObject *gpuarray_transpose_py(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_reshape(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_ravel(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_squeeze(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_view(PyObject *self, FAST_PARAMETERS);
extern const char gpuarray_transpose_doc[], gpuarray_reshape_doc[], gpuarray_ravel_doc[],
    gpuarray_squeeze_doc[], gpuarray_view_doc[];

/* ext/gpuarray/indexing.c */
#define BAD_INDEX \
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays " \
    "are " \
    "valid indices"
PyObject *gpuarray_subscript(PyObject *self, PyObject *index);
int gpuarray_assign_subscript(PyObject *self, PyObject *index, PyObject *value);
PyObject *gpuarray_setitem(PyObject *self, PyObject *const *args, Py_ssize_t arg_count);
PyObject *gpuarray_item(PyObject *self, Py_ssize_t i);
extern const char gpuarray_setitem_doc[];

/* ext/gpuarray/flags.c */
PyObject *gpuarray_flags(PyObject *self, void *closure);
int gpuarray_flags_setup(ModuleState *state); /* -1 with an exception */

/* ext/gpuarray/parts.c: the attributes `real` (closure is not NULL) and `imag`. As in PyCUDA, they are packed
 * copies. The real part of an array that is not complex is the array itself, its imaginary part zeros. */
PyObject *gpuarray_get_part(PyObject *self, void *closure);
int gpuarray_set_part(PyObject *self, PyObject *value, void *closure);
/* As gpuarray_get_part(), but as in NumPy: views, or read-only zeros. */
PyObject *gpuarray_view_part(PyObject *self, void *closure);
/* Called before an array is written to. -1 with ValueError if it is a copy that z.real or z.imag made, or a
 * view of one, and nothing except this call holds it: what is written would be lost. */
int gpuarray_check_kept(ModuleState *state, PyObject *object);
/* As gpuarray_check_kept(), where `value`, perhaps a view of the array, is assigned to its elements. */
int gpuarray_check_kept_of(ModuleState *state, PyObject *object, PyObject *value);
/* As gpuarray_check_kept(), for the argument that is out= of a Python function. */
int gpuarray_check_out_kept(ModuleState *state, PyObject *function, FAST_PARAMETERS);
/* Python's _is_of_part: whether an array is a copy that z.real or z.imag made, or a view of one. */
PyObject *gpuarray_is_of_part(PyObject *self, void *closure);

/* ext/gpuarray/in_place.c */
int gpuarray_set_shape(PyObject *self, PyObject *value, void *unused);
int gpuarray_set_strides(PyObject *self, PyObject *value, void *unused);
int gpuarray_set_dtype(PyObject *self, PyObject *value, void *unused);

/* Gives the array the shape, strides and dtype of another. -1 with an exception: then it is unchanged. */
int gpuarray_describe_again(GPUArrayObject *array, const GPUArrayObject *like);
/* Reads `ndim` strides from a sequence. -1 with an exception. */
int gpuarray_read_strides(PyObject *value, int ndim, Py_ssize_t *out);

/* tp_dealloc of GPUArray, by which operators recognize the type. */
void gpuarray_dealloc(PyObject *self);

/* Sets the array's memory: its address comes from gpudata, which the array keeps. -1 with an exception. */
int gpuarray_use_memory(GPUArrayObject *array, PyObject *gpudata);
/* Sets the array's allocator. NULL and None are the default pool. Of a pool or a memory resource, which
 * cannot be called, the method that allocates is taken. -1 with an exception. */
int gpuarray_set_allocator(GPUArrayObject *array, PyObject *value);

/* ext/gpuarray/attributes.c */
extern PyMemberDef gpuarray_members[];
extern PyGetSetDef gpuarray_getset[];

/* ext/gpuarray/methods.c */
extern PyMethodDef gpuarray_methods[];
/* pycuda._array.<module>.<name>(self, ...), imported with the first call. NULL with an exception. */
PyObject *gpuarray_call_python(ModuleState *state, const char *module, const char *name, PyObject *self,
                               FAST_PARAMETERS);

/* ext/gpuarray/get_set.c */
PyObject *gpuarray_get(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_get_async(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_set(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_set_async(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_copy(PyObject *self, FAST_PARAMETERS);
extern const char gpuarray_get_doc[], gpuarray_get_async_doc[], gpuarray_set_doc[], gpuarray_set_async_doc[],
    gpuarray_copy_doc[];

#endif
