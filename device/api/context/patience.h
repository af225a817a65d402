/* How long the calling thread is ready to wait inside a call.
 *
 * Not part of CUDA: the two exports are for a program that must notice signals. While its thread has set a
 * patience, a call that would wait for longer returns CUDA_ERROR_NOT_READY with nothing done, and may be
 * made again.
 */
#ifndef DEVICE_API_CONTEXT_PATIENCE_H
#define DEVICE_API_CONTEXT_PATIENCE_H

#include "api/context/context.h"

uint64_t patience_now(void);    /* nanoseconds of CLOCK_MONOTONIC */
bool patience_limited(void);
/* When a wait for work of that context that begins now has to end; 0: never. */
uint64_t patience_end(const Context *context);

#endif
