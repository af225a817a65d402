/* Copies and fills: every one becomes a job over rows of bytes, checked against the memory map, done at once
 * or in a stream's order. */
#ifndef DEVICE_API_COPY_COPY_H
#define DEVICE_API_COPY_COPY_H

#include "api/stream/stream.h"

/* One side of a copy: where row y of layer z starts: address + z * slice + y * pitch. */
typedef struct CopySide {
    uint64_t address, pitch, slice;
    bool device;           /* must be memory that the driver knows; else it may be any host memory */
    Array *array;          /* that it lies in, for graphs; held by the maker of the job. NULL: none */
    const struct SparseTiles *sparse; /* of that array, whose storage this has; NULL: all of it is mapped */
} CopySide;

typedef struct CopyJob {
    CopySide to, from;
    uint64_t width, height, depth; /* bytes, rows, layers */
} CopyJob;

/* Checks and does it: before returning, or in the stream's order. Pageable host memory is copied before
 * returning or, if it is small, kept aside: the program may use it again at once. */
CUresult copy_now(const CopyJob *job);
CUresult copy_in_stream(const CopyJob *job, CUstream stream);
/* Queues a copy in a stream that has been entered; at_once: it is done when the call returns. */
CUresult copy_queue(Stream *stream, const CopyJob *job, bool at_once);
/* The job of a shape; arrays[0] and [1] become references to the arrays of target and source. */
CUresult copy_resolve(const CUDA_MEMCPY3D *shape, CopyJob *job, Array *arrays[2]);
/* Whether it would be captured in that stream; NULL: in none. */
CUresult copy_is_captured(const CUstream *stream, bool *captured);
/* The context of one side of a copy between contexts: waits for its work, where the copy is not captured. */
CUresult copy_enter_peer(CUcontext handle, bool captured);
/* The steps of a copy, for copies that are kept: */
bool copy_check(const CopyJob *job);
/* When its turn has come. It fails, and the context with it, if reserved addresses have lost their memory
 * since they were checked. */
CUresult copy_do(const CopyJob *job, Context *context);

#endif
