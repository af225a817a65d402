/* Contexts: making, closing, checking, their sticky error, and the text that their kernels print. */
#include "api/context/upcalls.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/base/report.h"

static const uint64_t default_limits[CONTEXT_LIMITS] = {
    [CU_LIMIT_STACK_SIZE] = 1024,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
    [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

bool context_open(Context *context, unsigned flags)
{
    context->id = context_new_id();
    if (!queue_open_context(context)) return false;
    atomic_store(&context->flags, flags);
    atomic_store(&context->error, 0);
    atomic_store(&context->failed_launch, 0);
    atomic_store(&context->canceled, false);
    atomic_store(&context->peers, 0);
    atomic_store(&context->cache_config, 0);
    atomic_store(&context->shared_config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    for (int i = 0; i < CONTEXT_LIMITS; i++) atomic_store(&context->limits[i], default_limits[i]);
    free(context->coredump);
    context->coredump = coredump_inherit();
    atomic_store(&context->closed, false);
    atomic_store(&context->live, true);
    return true;
}

void context_free(Context *context)
{
    pthread_mutex_destroy(&context->print_lock);
    free(context->print_text);
    free(context->coredump);
    free(context);
}

Context *context_new(Device *device, unsigned flags, bool primary)
{
    Context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->device = device;
    context->primary = primary;
    context->version = CONTEXT_API_VERSION;
    pthread_mutex_init(&context->print_lock, NULL);
    if (!context_open(context, flags)) {
        context_free(context);
        return NULL;
    }
    context_enlist(context);
    return context;
}

Context *context_new_derived(Context *base, struct CUgreenCtx_st *green, SmRange range)
{
    Context *derived = calloc(1, sizeof *derived);
    if (!derived) return NULL;
    derived->device = base->device;
    derived->version = base->version;
    derived->base = base;
    derived->green = green;
    derived->range = range;
    derived->id = context_new_id();
    pthread_mutex_init(&derived->print_lock, NULL);
    atomic_store(&derived->live, true);
    context_enlist(context_retain(derived));
    return derived;
}

void context_close_derived(Context *derived)
{
    if (context_begin_close(derived)) context_set_closed(derived);
}

/* The count is raised before `live` is read; context_finish_close() reads the count after `live` was cleared.
 * So either this call sees that the context closes, or the close sees the count. */
bool context_keep_open(Context *context)
{
    atomic_fetch_add(&context->kept_open, 1);
    if (atomic_load(&context->live)) return true;
    atomic_fetch_sub(&context->kept_open, 1);
    return false;
}

void context_allow_close(Context *context) { atomic_fetch_sub(&context->kept_open, 1); }

bool context_begin_close(Context *context) { return atomic_exchange(&context->live, false); }

/* Writes the kept text of printf to stdout. */
static void show_locked(Context *context)
{
    if (!context->print_length) return;
    fwrite(context->print_text, 1, context->print_length, stdout);
    fflush(stdout);
    context->print_length = 0;
}

static void drop_text(Context *context)
{
    pthread_mutex_lock(&context->print_lock);
    show_locked(context);
    free(context->print_text);
    context->print_text = NULL;
    context->print_length = context->print_capacity = 0;
    pthread_mutex_unlock(&context->print_lock);
}

void context_finish_close(Context *context)
{
    uint64_t bytes[MEMORY_KINDS];
    for (Context *derived; (derived = context_find_derived(context)) != NULL; context_put(derived))
        context_close_derived(derived);
    queue_close_context(context);
    while (atomic_load(&context->kept_open)) sched_yield();
    drop_text(context);
    object_retire_context(context);
    device_heap_destroy(context->heap);
    device_heap_destroy(context->buffers);
    context->heap = context->buffers = NULL;
    ipc_close_context(context);
    pools_leave(context);
    memory_map_free_owner(driver_memory(), context, bytes);
    managed_sweep();
    uint64_t counted = bytes[MEMORY_DEVICE] + bytes[MEMORY_MANAGED] + bytes[MEMORY_ARRAY];
    atomic_fetch_sub(&context->device->memory_used, counted);
    report_unfreed(counted);
    context_set_closed(context);
}

bool context_close(Context *context)
{
    bool mine = context_begin_close(context);
    if (mine) context_finish_close(context);
    return mine;
}

/* The context in which calls work when `context` is current: itself, or the base of a derived one. */
static CUresult working_context(Context *context, Context **out)
{
    *out = context;
    if (!atomic_load(&context->live)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!context->base) return CUDA_SUCCESS;
    *out = context->base;
    return atomic_load(&context->base->live) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Context *context_on_top(void)
{
    const ThreadState *state = thread_state();
    return state && state->depth ? state->stack[state->depth - 1] : NULL;
}

CUresult context_enter_any(Context **out)
{
    TRY(driver_check());
    if (!thread_state()) return CUDA_ERROR_OUT_OF_MEMORY;
    Context *top = context_on_top();
    return top ? working_context(top, out) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult context_enter(Context **out)
{
    TRY(context_enter_any(out));
    return context_error(*out);
}

CUresult context_resolve(CUcontext handle, Context **out)
{
    Context *named;
    if (!handle) {
        TRY(context_enter_any(out));
        context_retain(*out);
        return CUDA_SUCCESS;
    }
    TRY(context_named(handle, &named));
    CUresult result = working_context(named, out);
    if (!result) context_retain(*out);
    context_put(named);
    return result;
}

CUresult context_named(CUcontext handle, Context **out)
{
    TRY(driver_check());
    Context *context = context_find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (atomic_load(&context->live)) {
        *out = context;
        return CUDA_SUCCESS;
    }
    context_put(context);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_error(const Context *context)
{
    return (CUresult)atomic_load_explicit(&context->error, memory_order_acquire);
}

/* Every fault is reported. The first one is recorded: its launch before its error, so that a thread that
 * sees the error finds the launch. */
void context_fail(Context *context, CUresult error, const char *text, uint64_t launch)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* streams of a context may fail at once */
    log_error("%s", text);
    report_fault(text, launch);
    pthread_mutex_lock(&lock);
    if (!context_error(context)) {
        atomic_store(&context->failed_launch, launch);
        atomic_store(&context->error, (int)error);
    }
    pthread_mutex_unlock(&lock);
}

cuuint64_t context_failed_launch(void)
{
    Context *context;
    return context_enter_any(&context) ? 0 : atomic_load(&context->failed_launch);
}

static bool reserve_print_locked(Context *context, size_t count)
{
    if (context->print_length + count <= context->print_capacity) return true;
    size_t capacity = 2 * (context->print_length + count) + 4096;
    char *text = realloc(context->print_text, capacity);
    if (!text) return false;
    context->print_text = text;
    context->print_capacity = capacity;
    return true;
}

void context_print(void *closure, const char *bytes, size_t count)
{
    Context *context = closure;
    pthread_mutex_lock(&context->print_lock);
    if (context->print_length + count > atomic_load(&context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]))
        show_locked(context);
    if (reserve_print_locked(context, count)) {
        memcpy(context->print_text + context->print_length, bytes, count);
        context->print_length += count;
    } else {
        show_locked(context);
        fwrite(bytes, 1, count, stdout);
    }
    pthread_mutex_unlock(&context->print_lock);
}

void context_flush(Context *context)
{
    pthread_mutex_lock(&context->print_lock);
    show_locked(context);
    pthread_mutex_unlock(&context->print_lock);
}
