/* The calling thread's timeout, and the cancellation of what it waited for. See timeout.h. */
#include "api/context/timeout.h"

#include <time.h>

#include "api/context/upcalls.h"

static _Thread_local unsigned timeout; /* microseconds; 0: none */
static _Thread_local const Context
    *awaited; /* the context of the last wait, as a handle without a reference */
static _Thread_local unsigned long long awaited_life; /* its id then: one that was reopened has another */

uint64_t timeout_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool timeout_is_set(void) { return timeout != 0; }

uint64_t timeout_deadline(const Context *context)
{
    if (!timeout) return 0;
    awaited = context;
    awaited_life = atomic_load(&context->id);
    return timeout_clock() + (uint64_t)timeout * 1000;
}

/* Sets the timeout of the following calls of this thread; 0: none. */
CUresult cuPycudaSetTimeout(unsigned int microseconds)
{
    if (!driver_settings()->can_cancel) return CUDA_ERROR_NOT_SUPPORTED;
    timeout = microseconds;
    return CUDA_SUCCESS;
}

static void cancel_awaited(void)
{
    Context *context = awaited ? context_find(awaited) : NULL;
    if (!context) return;
    if (atomic_load(&context->live) && atomic_load(&context->id) == awaited_life)
        queue_cancel_context(context);
    context_put(context);
}

/* Ends the kernels of the context that this thread waited for last, or of all contexts that have work to do.
 * Such a context fails, as after a kernel's fault. */
CUresult cuPycudaCancel(unsigned int all)
{
    TRY(driver_check());
    if (all)
        context_each_busy(queue_cancel_context);
    else
        cancel_awaited();
    return CUDA_SUCCESS;
}
