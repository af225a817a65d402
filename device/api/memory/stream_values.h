/* Words of memory that streams write and wait for, as nodes of graphs have them. */
#ifndef DEVICE_API_MEMORY_STREAM_VALUES_H
#define DEVICE_API_MEMORY_STREAM_VALUES_H

#include "api/stream/queue.h"

/* CUstreamBatchMemOpType. */
enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
/* CUstreamWaitValue_flags: the condition of a wait. */
enum { WAIT_GEQ, WAIT_EQ, WAIT_AND, WAIT_NOR };

/* An error if the operations are invalid. Whether their words are allocated is not checked. */
CUresult stream_values_check(const CUstreamBatchMemOpParams *operations, unsigned count, unsigned flags);
/* Does the operations one after another; called by a task of the stream, which must be endless
 * (Task.endless). */
void stream_values_do(const CUstreamBatchMemOpParams *operations, unsigned count, Stream *stream);

#endif
