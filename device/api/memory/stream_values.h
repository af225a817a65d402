/* Words of memory that streams write and wait for, as nodes of graphs have them. */
#ifndef DEVICE_API_MEMORY_STREAM_VALUES_H
#define DEVICE_API_MEMORY_STREAM_VALUES_H

#include "api/stream/queue.h"

/* CUstreamBatchMemOpType, and what a wait waits for. */
enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
enum { WAIT_GEQ, WAIT_EQ, WAIT_AND, WAIT_NOR };

/* Whether a node may have these operations. Their words need not be allocated yet. */
CUresult stream_values_check(const CUstreamBatchMemOpParams *operations, unsigned count, unsigned flags);
/* Does them one after another, for a task of the stream that is endless. */
void stream_values_do(const CUstreamBatchMemOpParams *operations, unsigned count, Stream *stream);

#endif
