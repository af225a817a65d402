/* Device arrays of other libraries, by their __cuda_array_interface__ or DLPack: their address, the work that
 * must be done before they are read, and their dtype. */
#ifndef EXT_CONVERT_FOREIGN_H
#define EXT_CONVERT_FOREIGN_H

#include "core/layout/strides.h"
#include "ext/base/ext.h"

struct _PyArray_Descr;

typedef struct ForeignArray {
    CUdeviceptr pointer;
    bool has_stream; /* the owner has queued work on it there */
    bool unordered; /* its interface, of version 2 or less, does not say where */
    CUstream stream;
    bool on_host; /* it is an array, and on no device: foreign_describe gives 0 */
} ForeignArray;

/* 1 when the object has the interface, 0 when not, -1 with an exception: TypeError when it is malformed.
 * Looked at before integers: some owners (tensors of torch) are integers to Python. */
int foreign_find(ModuleState *state, PyObject *object, ForeignArray *out);

/* An array as NumPy describes one. */
typedef struct ForeignLayout {
    struct _PyArray_Descr *dtype; /* owned until foreign_layout_clear; in the order of bytes of devices */
    int ndim;
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS]; /* strides in bytes */
    bool read_only, is_copy;
    PyObject *owner; /* owned: keeps the memory */
} ForeignLayout;

/* The whole array, for work on the consumer's stream: 1, 0 or -1 with an exception. Elements are in memory
 * that the current context reaches. */
int foreign_describe(ModuleState *state, PyObject *object, CUstream consumer, ForeignArray *out,
                     ForeignLayout *layout);
/* The part that asks whether kernels can use the memory, of this device (-1: unknown). -1 with ValueError. */
int foreign_check_pointer(ModuleState *state, const ForeignArray *array, const ForeignLayout *layout,
                          int device);
void foreign_layout_clear(ForeignLayout *layout);

/* Whether it may be one: false, at little cost, for what callables are given besides arrays. */
bool foreign_is_possible(ModuleState *state, PyObject *object);
/* Whether it is one, as far as its attributes show. No exception is set. */
bool foreign_is_array(ModuleState *state, PyObject *object);

/* The part of it that reads the interface, for foreign_describe. */
int foreign_read_interface(ModuleState *state, PyObject *object, PyObject *interface, ForeignArray *out);

/* The handles 0 and 1 are both the legacy default stream. */
bool foreign_same_stream(CUstream a, CUstream b);

/* Work queued on `consumer` from now on comes after the owner's work. -1 with an exception. */
int foreign_order(ModuleState *state, const ForeignArray *array, CUstream consumer);

/* Waits for the owner's work: for callers that do not know a stream yet. -1 with an exception. */
int foreign_wait(ModuleState *state, const ForeignArray *array);

#endif
