/* Device arrays of other libraries, by their __cuda_array_interface__ or DLPack: their address, the work that
 * must be done before they are read, and their dtype. */
#ifndef EXT_CONVERT_FOREIGN_H
#define EXT_CONVERT_FOREIGN_H

#include "core/layout/strides.h"
#include "ext/base/ext.h"

struct _PyArray_Descr;

typedef struct ForeignArray {
    CUdeviceptr pointer;
    bool has_stream; /* the owner may have queued work on the array, on `stream` */
    bool unordered; /* the interface, of version 2 or less, names no stream: `stream` is an assumption */
    CUstream stream;
    int device; /* on which the memory is; -1: not known, or the host's */
    bool on_host; /* the object is an array in host memory: foreign_describe() returns 0 */
} ForeignArray;

/* *out: the address and stream of an array of another library, by whichever of the protocols it has. 1; 0
 * when it has none; -1 with an exception: TypeError when what it gives is malformed. Callers ask this before
 * they try an object as an integer: torch's tensors have __index__. */
int foreign_find(ModuleState *state, PyObject *object, ForeignArray *out);

/* An array as NumPy describes one. */
typedef struct ForeignLayout {
    struct _PyArray_Descr *dtype; /* owned until foreign_layout_clear; in the byte order of devices */
    int ndim;
    Py_ssize_t shape[STRIDES_MAX_DIMS], strides[STRIDES_MAX_DIMS]; /* strides in bytes */
    bool read_only, is_copy;
    PyObject *owner; /* owned: keeps the memory */
} ForeignLayout;

/* Describes an array for work on the consumer's stream. 1; 0 when the object is not an array on a device; -1
 * with an exception, also when the current context does not reach its memory. */
int foreign_describe(ModuleState *state, PyObject *object, CUstream consumer, ForeignArray *out,
                     ForeignLayout *layout);
/* The part of foreign_describe() that asks whether kernels of the current context can use the array's memory,
 * which is of this device (-1: unknown). Sets array->device. -1 with ValueError. */
int foreign_check_pointer(ModuleState *state, ForeignArray *array, const ForeignLayout *layout, int device);
/* -1 with ValueError when kernels of the current context cannot access the memory at the array's address.
 * Sets array->device. */
int foreign_check_place(ModuleState *state, ForeignArray *array);
void foreign_layout_clear(ForeignLayout *layout);

/* Whether the object may be an array of another library: false, at little cost, for most other arguments. */
bool foreign_is_possible(ModuleState *state, PyObject *object);
/* Whether the object is one, as far as its attributes show. No exception is set. */
bool foreign_is_array(ModuleState *state, PyObject *object);

/* The part of foreign_describe() that reads a __cuda_array_interface__. */
int foreign_read_interface(ModuleState *state, PyObject *object, PyObject *interface, ForeignArray *out);

/* Whether two handles mean the same stream: 0 and 1 both mean the legacy default stream. */
bool foreign_same_stream(CUstream a, CUstream b);

/* Orders work that is queued on `consumer` from now on after the owner's work. -1 with an exception. */
int foreign_order(ModuleState *state, const ForeignArray *array, CUstream consumer);

/* Waits for the owner's work: for callers that do not know a stream yet. -1 with an exception. */
int foreign_wait(ModuleState *state, const ForeignArray *array);

#endif
