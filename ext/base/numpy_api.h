/* NumPy's C API, of which every file but module.c uses the table that module.c fills. */
#ifndef EXT_BASE_NUMPY_API_H
#define EXT_BASE_NUMPY_API_H

#include "ext/base/ext.h"

#define PY_ARRAY_UNIQUE_SYMBOL pycuda_numpy_api
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#ifndef EXT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#endif
