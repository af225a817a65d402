/* The slots of GPUArray's type that operators call. */
#ifndef EXT_GPUARRAY_OPERATORS_H
#define EXT_GPUARRAY_OPERATORS_H

#include "ext/gpuarray/gpuarray.h"

/* Ends with {0, NULL}. */
extern const PyType_Slot gpuarray_operators[];

#endif
