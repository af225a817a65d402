/* GPUArrays for other libraries, by DLPack (ext/convert/dlpack.h has the structures). */
#ifndef EXT_GPUARRAY_DLPACK_H
#define EXT_GPUARRAY_DLPACK_H

#include "ext/convert/dlpack.h"
#include "ext/gpuarray/gpuarray.h"

PyObject *gpuarray_dlpack(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_dlpack_device(PyObject *self, PyObject *none);
extern const char gpuarray_dlpack_doc[], gpuarray_dlpack_device_doc[];

/* The array as a tensor that has a reference to it. The caller owns the tensor. NULL with BufferError or
 * another exception. */
DLPackVersioned *dlpack_export(GPUArrayObject *array);

/* *out: the array as a tensor without a reference. Its shape and strides are written to `numbers`, which has
 * two for each axis and must live as long as the tensor. -1 with an exception. */
int dlpack_fill(GPUArrayObject *array, int64_t *numbers, DLPackTensor *out);

#endif
