/* Moving the elements of arrays of any strides between host and device, and on the device. */
#ifndef EXT_GPUARRAY_TRANSFER_H
#define EXT_GPUARRAY_TRANSFER_H

#include "ext/gpuarray/gpuarray.h"

/* How a transfer is done: on which stream, and whether the caller waits for it. */
typedef struct TransferMode {
    CUstream stream;
    PyObject *stream_object;    /* borrowed; NULL or None is the default stream */
    bool host_too;  /* for an array in host memory foreign_view() returns 0 and does not raise TypeError */
    bool async;     /* the call returns when the transfer is queued, if the layouts allow that */
    bool fresh;     /* the host array is new, and not page-locked: a staging block is faster (staging.h) */
} TransferMode;

struct tagPyArrayObject;

/* Puts a stream argument into the mode. -1 with TypeError. */
int transfer_stream(ModuleState *state, PyObject *stream, TransferMode *mode);

/* The mode of a call that is given no stream, and waits. */
TransferMode transfer_mode_blocking(ModuleState *state);

/* *mode: for work on the device that is queued on this stream, without a wait. For None or NULL:
 * transfer_mode_blocking(). -1 with TypeError. */
int transfer_mode_on(ModuleState *state, PyObject *stream, TransferMode *mode);

/* Called before work on the array is queued: checks that its memory was not freed, and notes the stream in
 * pooled memory. -1 with an exception. */
int transfer_use(GPUArrayObject *array, TransferMode mode);

/* A new host array with the order of axes of the device array and without gaps; with `locked` page-locked.
 * NULL with an exception. */
PyObject *transfer_new_host(GPUArrayObject *array, bool locked);

/* Copy between a device array and a host array of the same shape and dtype. -1 with an exception. */
int transfer_to_host(GPUArrayObject *from, PyObject *host, TransferMode mode);
int transfer_to_device(GPUArrayObject *to, PyObject *host, TransferMode mode);

/* Queues a copy between arrays of the same shape and itemsize, which may overlap. -1 with an exception. */
int transfer_on_device(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode);

/* A new packed array with the elements of this one, in row-major ('C') or column-major ('F') order, or in
 * this one's order of axes ('K'). allocator: as for gpuarray_new(). NULL with an exception. */
PyObject *transfer_copy(GPUArrayObject *array, char order, PyObject *allocator, TransferMode mode);

#endif
