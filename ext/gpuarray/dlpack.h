/* GPUArrays for other libraries, by DLPack (ext/convert/dlpack.h has the structures). */
#ifndef EXT_GPUARRAY_DLPACK_H
#define EXT_GPUARRAY_DLPACK_H

#include "ext/convert/dlpack.h"
#include "ext/gpuarray/gpuarray.h"

PyObject *gpuarray_dlpack(PyObject *self, FAST_PARAMETERS);
PyObject *gpuarray_dlpack_device(PyObject *self, PyObject *none);
extern const char gpuarray_dlpack_doc[], gpuarray_dlpack_device_doc[];

/* The array as a tensor with a reference to it. NULL with BufferError or another exception. */
DLPackVersioned *dlpack_export(GPUArrayObject *array);

/* As dlpack_export(), without a reference: shape and strides are written to `numbers`, two for each axis. -1
 * with an exception. */
int dlpack_fill(GPUArrayObject *array, int64_t *numbers, DLPackTensor *out);

#endif
