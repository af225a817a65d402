/* Staging of copies to the host. See staging.h. */
#include "ext/memory/staging.h"

#include <string.h>

#include "ext/base/captured.h"
#include "ext/base/driver_calls.h"

/* Allocates the context's staging block, once: not during a capture, and not again after a failure. FOREIGN
 * contexts get none, since nothing here would free it at their end. */
static void *new_block(ContextObject *context)
{
    void *block = NULL;
    if (atomic_load(&context->kind) == CONTEXT_FOREIGN || captured_some(context->state)
        || atomic_exchange(&context->staged, true))
        return NULL;
    CUresult result = once_cuMemAllocHost(context->state, &block, STAGING_BYTES);
    if (result == CUDA_ERROR_NOT_PERMITTED) atomic_store(&context->staged, false); /* in a host function */
    return result == CUDA_SUCCESS ? block : NULL;
}

bool staging_take(ModuleState *state, Staging *out)
{
    ContextObject *current = context_current(state);
    void *block = current ? atomic_exchange(&current->staging, NULL) : NULL;
    if (current && !block) block = new_block(current);
    if (block) *out = (Staging){context_hold(current), block};
    Py_XDECREF((PyObject *)current);
    PyErr_Clear();
    return block;
}

/* When the context was destroyed meanwhile, the block was freed with it, and no caller asks for it again. */
void staging_return(const Staging *staging)
{
    atomic_store(&staging->context->staging, staging->block);
    context_drop(staging->context);
}

/* Another thread may destroy the context, which waits for the driver's copy. context_stay() makes it wait for
 * the host's copy as well. */
int staging_to_host(ModuleState *state, const Staging *staging, void *to, CUdeviceptr from, size_t size)
{
    enum { SMALL_BYTES = 64 << 10 }; /* releasing the GIL would take longer than the copy */
    if (gpu_cuMemcpyDtoH(state, staging->block, from, size) < 0) return -1;
    if (!context_stay(staging->context)) {
        raise_driver(state, CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuMemcpyDtoH", NULL);
        return -1;
    }
    if (size <= SMALL_BYTES)
        memcpy(to, staging->block, size);
    else
        WITHOUT_GIL(memcpy(to, staging->block, size));
    context_go(staging->context);
    return 0;
}

/* ContextLastFn: frees the block of a context that is destroyed or released next. */
static void end_staging(ContextObject *context)
{
    ContextScope scope;
    void *block = atomic_exchange(&context->staging, NULL);
    if (!block || !context_enter_last(context, &scope)) return;
    CUresult result = end_cuMemFreeHost(context->state, block);
    context_leave_scope(&scope);
    report_driver(context->state, result, "cuMemFreeHost");
}

int staging_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return context_on_last(state, end_staging);
}
