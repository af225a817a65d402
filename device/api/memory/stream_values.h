/* Words of memory that streams write and wait for, as nodes of graphs have them. */
#ifndef DEVICE_API_MEMORY_STREAM_VALUES_H
#define DEVICE_API_MEMORY_STREAM_VALUES_H

#include "api/stream/queue.h"

/* Whether a node may do these: the words need not be there yet. */
CUresult stream_values_check(const CUstreamBatchMemOpParams *operations, unsigned count, unsigned flags);
/* Does them one after the other, for a task of the stream that is endless. */
void stream_values_do(const CUstreamBatchMemOpParams *operations, unsigned count, Stream *stream);

#endif
