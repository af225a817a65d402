/* A timeout for the waits of the calling thread.
 *
 * Not part of CUDA: cuPycudaSetTimeout and cuPycudaCancel are for programs that must react to signals. While
 * a thread has a timeout, each of its calls that would wait for longer returns CUDA_ERROR_NOT_READY and has
 * changed nothing, so that it can be repeated.
 */
#ifndef DEVICE_API_CONTEXT_TIMEOUT_H
#define DEVICE_API_CONTEXT_TIMEOUT_H

#include "api/context/context.h"

uint64_t timeout_clock(void);    /* nanoseconds of CLOCK_MONOTONIC */
bool timeout_is_set(void);
/* When a wait for work of the context has to end if it begins now, as a time of timeout_clock(); 0: never.
 * Notes that the thread waits for this context: cuPycudaCancel then cancels its work. */
uint64_t timeout_deadline(const Context *context);

#endif
