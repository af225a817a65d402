/* Copies and fills: every one becomes a job over rows of bytes, checked against the memory map, done at once
 * or in a stream's order. */
#ifndef DEVICE_API_COPY_COPY_H
#define DEVICE_API_COPY_COPY_H

#include "api/stream/stream.h"

/* One side of a copy. Row y of layer z starts at address + z * slice + y * pitch. */
typedef struct CopySide {
    uint64_t address, pitch, slice;
    bool device; /* it must be memory that the driver knows; false: it may be any host memory, too */
    Array *array; /* the array that the side is in, or NULL; the maker of the job has a reference */
    const struct SparseTiles *sparse; /* the array's; NULL: all of the memory is mapped */
} CopySide;

typedef struct CopyJob {
    CopySide to, from;
    uint64_t width, height, depth; /* bytes, rows, layers */
} CopyJob;

/* Checks the job and does it in the NULL stream's turn, before returning. */
CUresult copy_now(const CopyJob *job);
/* Checks the job and queues it in the stream, or captures it. When the call returns the program may use
 * pageable host memory again: a small source was copied to a buffer, any other copy with such memory is
 * done. */
CUresult copy_in_stream(const CopyJob *job, CUstream stream);
/* Queues a job that was checked, in a stream that has been entered. at_once: does it in the stream's turn,
 * before returning. */
CUresult copy_queue(Stream *stream, const CopyJob *job, bool at_once);
/* The job for a shape as the driver API describes it. arrays[0] and arrays[1] become references to the arrays
 * of target and source, or NULL; the caller releases them after an error as well. */
CUresult copy_resolve(const CUDA_MEMCPY3D *shape, CopyJob *job, Array *arrays[2]);
/* Sets *captured: whether a copy in that stream would be captured. stream: NULL for a copy without one. */
CUresult copy_is_captured(const CUstream *stream, bool *captured);
/* Checks the context of one side of a copy between contexts. Unless the copy is captured, waits for that
 * context's work. */
CUresult copy_enter_peer(CUcontext handle, bool captured);

/* The two steps of a copy, for callers that keep the job between them: */
/* Whether the job's memory is valid. */
bool copy_check(const CopyJob *job);
/* Does the job now. If reserved addresses have lost their memory since the check, returns an error, and the
 * context fails. */
CUresult copy_do(const CopyJob *job, Context *context);

#endif
