/* GPUArray: an array in device memory with NumPy's description of it (shape, strides, dtype).
 *
 * Strides are in bytes and may be negative or zero; `pointer` is the address of element 0. The description
 * changes by a.shape = and the like alone (in_place.c), the memory by a.gpudata = of programs that manage it
 * themselves.
 */
#ifndef EXT_GPUARRAY_GPUARRAY_H
#define EXT_GPUARRAY_GPUARRAY_H

#include "ext/memory/gpuarray_object.h"

/* shape may be NULL where ndim is 0, as NumPy has it. */
static inline bool gpuarray_has_shape(const GPUArrayObject *array, int ndim, const Py_ssize_t *shape)
{
    bool same = array->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = array->shape[i] == shape[i];
    return same;
}

/* ValueError (-1) when it may not be written to. */
int gpuarray_check_writable(const GPUArrayObject *array);

/* The stream of the array's memory, else the default one (the handle 1). */
CUstream gpuarray_stream(const GPUArrayObject *array);

/* ext/gpuarray/dlpack.c. Work queued on `consumer` from now on comes after that on the array, on this
 * stream and on others that it is known to have been used on. Nothing waits. -1 with an exception. */
int gpuarray_order(GPUArrayObject *array, CUstream consumer);

/* A plain GPUArray over memory that `owner` keeps, or nothing does. dtype as below. */
PyObject *gpuarray_new_over(ModuleState *state, struct _PyArray_Descr *dtype, int ndim,
                            const Py_ssize_t *shape, const Py_ssize_t *strides, CUdeviceptr pointer,
                            PyObject *owner);

/* A plain GPUArray over part of the memory of `parent`, which it keeps. dtype is a new reference given away,
 * also on failure. NULL with an exception. */
PyObject *gpuarray_new_view(GPUArrayObject *parent, struct _PyArray_Descr *dtype, int ndim,
                            const Py_ssize_t *shape, const Py_ssize_t *strides, CUdeviceptr pointer);

/* A new packed GPUArray with memory from `allocator` (NULL, None: the default pool) for work on `stream` (the
 * same: the default one). strides NULL: order 'C'. dtype as above. */
PyObject *gpuarray_new(ModuleState *state, struct _PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                       const Py_ssize_t *strides, PyObject *allocator, PyObject *stream);
/* A new one of the shape of `like`, in order 'C' as that is; dtype is borrowed. */
PyObject *gpuarray_new_like(const GPUArrayObject *like, ContextObject *context, struct _PyArray_Descr *dtype,
                            PyObject *allocator, PyObject *stream);
/* gpuarray_new for callers that know the current context. */
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
/* ValueError for more axes than there may be, and for an order that is none (0). */
void gpuarray_raise_ndim(void);
char gpuarray_raise_order(PyObject *value);
/* A view as another dtype, which is a reference given away: where its size differs this axis, which is
 * contiguous, changes its length; -1: no such axis. */
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

/* ext/gpuarray/parts.c: packed copies, as in PyCUDA. The real part of an array that is not complex is the
 * array itself, its imaginary part zeros. closure is not NULL for the real part. */
PyObject *gpuarray_get_part(PyObject *self, void *closure);
int gpuarray_set_part(PyObject *self, PyObject *value, void *closure);
/* The parts as NumPy has them: views, and zeros to read. */
PyObject *gpuarray_view_part(PyObject *self, void *closure);
/* ValueError (-1) for a copy that z.real or z.imag made, or a view of one, which only this call holds: what
 * is written to it would be lost. */
int gpuarray_check_kept(ModuleState *state, PyObject *object);
/* As gpuarray_check_kept(), where this value is assigned to elements of it. */
int gpuarray_check_kept_of(ModuleState *state, PyObject *object, PyObject *value);
/* As gpuarray_check_kept(), for the argument that is out= of a Python function. */
int gpuarray_check_out_kept(ModuleState *state, PyObject *function, FAST_PARAMETERS);
/* Whether an array is one of these copies or a view of one, held or not. */
PyObject *gpuarray_is_of_part(PyObject *self, void *closure);

/* ext/gpuarray/in_place.c */
int gpuarray_set_shape(PyObject *self, PyObject *value, void *unused);
int gpuarray_set_strides(PyObject *self, PyObject *value, void *unused);
int gpuarray_set_dtype(PyObject *self, PyObject *value, void *unused);

/* Gives the array the shape, strides and dtype of another. -1 with an exception, and it is as it was. */
int gpuarray_describe_again(GPUArrayObject *array, const GPUArrayObject *like);
/* Reads `ndim` strides from a sequence. -1 with an exception. */
int gpuarray_read_strides(PyObject *value, int ndim, Py_ssize_t *out);

/* tp_dealloc, which no other type has. */
void gpuarray_dealloc(PyObject *self);

/* The address comes from gpudata, which the array keeps. -1 with an exception. */
int gpuarray_use_memory(GPUArrayObject *array, PyObject *gpudata);
/* NULL and None are the default pool. What cannot be called is a pool or a memory resource. -1 with an
 * exception. */
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
