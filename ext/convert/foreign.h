/* Device arrays of other libraries, by their __cuda_array_interface__: where they are, and the work that
 * must be done before anybody looks at them. */
#ifndef EXT_CONVERT_FOREIGN_H
#define EXT_CONVERT_FOREIGN_H

#include "ext/ext.h"

typedef struct ForeignArray {
    CUdeviceptr pointer;
    bool has_stream;        /* the owner has queued work on it there (version 3 and later) */
    CUstream stream;
} ForeignArray;

/* 1 when the object has the interface, 0 when not, -1 with an exception: TypeError when it is malformed.
 * Looked at before integers: some owners (tensors of torch) are integers to Python. */
int foreign_find(ModuleState *state, PyObject *object, ForeignArray *out);

/* What is queued on `consumer` from now on comes after the owner's work. -1 with an exception. */
int foreign_order(ModuleState *state, const ForeignArray *array, CUstream consumer);

/* Waits for the owner's work: for who does not know a stream yet. -1 with an exception. */
int foreign_wait(ModuleState *state, const ForeignArray *array);

#endif
