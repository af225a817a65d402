/* A handle of cuBLAS, and the workspace that its kernels use on one stream. */
#ifndef EXT_LIBRARY_BLAS_HANDLE_H
#define EXT_LIBRARY_BLAS_HANDLE_H

#include "ext/base/ext.h"

/* False when the value is no _BlasHandle; else its cublasHandle_t in *out, or an exception: its context is
 * gone. */
bool blas_handle_value(ModuleState *state, PyObject *value, uint64_t *out);

#endif
