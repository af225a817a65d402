/* Contexts: making, closing, checking, their sticky error, and the text that their kernels print. */
#include "api/context.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ipc.h"
#include "api/log.h"
#include "api/managed.h"
#include "api/pool.h"
#include "api/queue.h"
#include "api/stream.h"

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static Context *contexts;             /* the newest first */
static unsigned dead_contexts;        /* of them, those that are closed and no primary ones */
static unsigned walkers;              /* threads that go along them without the lock: none is freed */
enum { DEAD_CONTEXTS = 64 };          /* so many are known as destroyed; then the oldest are forgotten */
static unsigned long long last_id;

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
    Stream *legacy = stream_new(context, CU_STREAM_DEFAULT, 0);
    if (!legacy) return false;
    pthread_mutex_lock(&contexts_lock);
    context->id = ++last_id;
    pthread_mutex_unlock(&contexts_lock);
    atomic_store(&context->flags, flags);
    atomic_store(&context->error, 0);
    atomic_store(&context->cancelled, false);
    atomic_store(&context->peers, 0);
    atomic_store(&context->cache_config, 0);
    atomic_store(&context->shared_config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    for (int i = 0; i < CONTEXT_LIMITS; i++) atomic_store(&context->limits[i], default_limits[i]);
    context->legacy = legacy;
    queue_set_legacy(legacy);
    atomic_store(&context->live, true);
    return true;
}

Context *context_new(Device *device, unsigned flags, bool primary)
{
    Context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->device = device;
    context->primary = primary;
    context->version = 3020;
    pthread_mutex_init(&context->print_lock, NULL);
    if (!context_open(context, flags)) {
        pthread_mutex_destroy(&context->print_lock);
        free(context);
        return NULL;
    }
    pthread_mutex_lock(&contexts_lock);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&contexts_lock);
    return context;
}

Context *context_new_shell(Context *base, struct CUgreenCtx_st *green)
{
    Context *shell = calloc(1, sizeof *shell);
    if (!shell) return NULL;
    shell->device = base->device;
    shell->version = base->version;
    shell->base = base;
    shell->green = green;
    pthread_mutex_init(&shell->print_lock, NULL);
    atomic_store(&shell->live, true);
    pthread_mutex_lock(&contexts_lock);
    shell->id = ++last_id;
    shell->next = contexts;
    contexts = shell;
    pthread_mutex_unlock(&contexts_lock);
    return shell;
}

/* The oldest closed context that is on no stack, taken from the list; NULL when there are few. */
static Context *oldest_dead_locked(void)
{
    Context **oldest = NULL;
    if (dead_contexts <= DEAD_CONTEXTS || walkers) return NULL;
    for (Context **link = &contexts; *link; link = &(*link)->next)
        if (!(*link)->primary && (*link)->closed && !atomic_load(&(*link)->stacked)) oldest = link;
    Context *context = oldest ? *oldest : NULL;
    if (oldest) *oldest = context->next;
    if (oldest) dead_contexts--;
    return context;
}

/* Nobody closes the context any more: until then it is not live, but in use. */
static void note_closed(Context *closed)
{
    pthread_mutex_lock(&contexts_lock);
    closed->closed = true;
    dead_contexts++;
    for (Context *oldest; (oldest = oldest_dead_locked()) != NULL;) {
        pthread_mutex_destroy(&oldest->print_lock);
        free(oldest);
    }
    pthread_mutex_unlock(&contexts_lock);
}

void context_close_shell(Context *shell)
{
    if (atomic_exchange(&shell->live, false)) note_closed(shell);
}

static Context *live_shell(const Context *base)
{
    pthread_mutex_lock(&contexts_lock);
    Context *shell = contexts;
    while (shell && (shell->base != base || !atomic_load(&shell->live))) shell = shell->next;
    pthread_mutex_unlock(&contexts_lock);
    return shell;
}

/* Counted before `live` is looked at, as context_close looks at the count after it has cleared that. */
bool context_keep_open(Context *context)
{
    atomic_fetch_add(&context->kept_open, 1);
    if (atomic_load(&context->live)) return true;
    atomic_fetch_sub(&context->kept_open, 1);
    return false;
}

void context_let_close(Context *context) { atomic_fetch_sub(&context->kept_open, 1); }

bool context_close(Context *context)
{
    uint64_t bytes[MEMORY_KINDS];
    if (!atomic_exchange(&context->live, false)) return false;
    for (Context *shell; (shell = live_shell(context)) != NULL;) context_close_shell(shell);
    queue_close_context(context);
    while (atomic_load(&context->kept_open)) sched_yield();
    context_flush(context);
    object_retire_context(context);
    Stream *legacy = context->legacy;
    context->legacy = NULL;
    PUT(legacy);
    device_heap_destroy(context->heap);
    device_heap_destroy(context->buffers);
    context->heap = context->buffers = NULL;
    ipc_close_context(context);
    pools_leave(context);
    memory_map_free_owner(driver_memory(), context, bytes);
    managed_sweep();
    uint64_t counted = bytes[MEMORY_DEVICE] + bytes[MEMORY_MANAGED] + bytes[MEMORY_ARRAY];
    atomic_fetch_sub(&context->device->memory_used, counted);
    free(context->print_text);
    context->print_text = NULL;
    context->print_length = context->print_capacity = 0;
    if (!context->primary) note_closed(context);
    return true;
}

static bool is_known(const Context *handle)
{
    pthread_mutex_lock(&contexts_lock);
    const Context *context = contexts;
    while (context && context != handle) context = context->next;
    pthread_mutex_unlock(&contexts_lock);
    return context != NULL;
}

/* The context that calls work in when this one is meant. */
static CUresult inside(Context *context, Context **out)
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
    return top ? inside(top, out) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult context_enter(Context **out)
{
    TRY(context_enter_any(out));
    return context_error(*out);
}

CUresult context_check(CUcontext handle, Context **out)
{
    if (!handle) return context_enter_any(out);
    TRY(context_named(handle, out));
    return inside(*out, out);
}

CUresult context_named(CUcontext handle, Context **out)
{
    TRY(driver_check());
    if (!is_known(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = handle;
    return atomic_load(&handle->live) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_error(const Context *context)
{
    return (CUresult)atomic_load_explicit(&context->error, memory_order_acquire);
}

void context_fail(Context *context, CUresult error, const char *text)
{
    int none = 0;
    log_error("%s", text);
    atomic_compare_exchange_strong(&context->error, &none, (int)error);
}

void context_each_busy(void (*act)(Context *context))
{
    pthread_mutex_lock(&contexts_lock);
    Context *context = contexts;
    walkers++;
    pthread_mutex_unlock(&contexts_lock);
    for (; context; context = context->next)
        if (atomic_load(&context->live) && queue_context_busy(context)) act(context);
    pthread_mutex_lock(&contexts_lock);
    walkers--;
    pthread_mutex_unlock(&contexts_lock);
}

static void show_locked(Context *context)
{
    if (!context->print_length) return;
    fwrite(context->print_text, 1, context->print_length, stdout);
    fflush(stdout);
    context->print_length = 0;
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
