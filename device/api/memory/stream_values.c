/* Writes to words of memory and waits for their values, in the order of streams (cuStreamWriteValue*,
 * cuStreamWaitValue*, cuStreamBatchMemOp). A wait polls, because the host or any kernel may write the
 * word. */
#include "api/memory/stream_values.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/base/refused.h"
#include "api/memory/memory.h"
#include "api/stream/capture.h"
#include "api/stream/stream.h"

enum { FLUSH_BEFORE = 1 << 30 }; /* CU_STREAM_WAIT_VALUE_FLUSH */
enum { CONDITION_MASK = 3 };     /* the bits of a wait's flags that are one of WAIT_GEQ to WAIT_NOR */
enum { MAX_OPERATIONS = 255 };   /* of a batch */
enum {
    POLLS = 1000,
    NAP_NANOSECONDS = 20000
}; /* polls before a wait sleeps between polls, and for how long */

typedef CUstreamBatchMemOpParams Operation;

typedef struct ValuesTask {
    Task task;
    unsigned count;
    Operation operations[];
} ValuesTask;

static bool is_wide(const Operation *o) { return o->operation == WAIT_64 || o->operation == WRITE_64; }

static bool is_write(const Operation *o) { return o->operation == WRITE_32 || o->operation == WRITE_64; }

static uint64_t load_value(const Operation *o)
{
    uintptr_t at = (uintptr_t)o->address;
    return is_wide(o) ? atomic_load((const _Atomic uint64_t *)at) : atomic_load((const _Atomic uint32_t *)at);
}

static void store_value(const Operation *o)
{
    uintptr_t at = (uintptr_t)o->address;
    if (is_wide(o))
        atomic_store((_Atomic uint64_t *)at, o->value);
    else
        atomic_store((_Atomic uint32_t *)at, (uint32_t)o->value);
    memory_map_written(driver_memory(), o->address, is_wide(o) ? 8 : 4);
}

/* WAIT_GEQ compares cyclically: the difference, as a signed number, must not be negative. */
static bool condition_holds(const Operation *o)
{
    uint64_t now = load_value(o), value = is_wide(o) ? o->value : (uint32_t)o->value;
    uint64_t mask = is_wide(o) ? UINT64_MAX : UINT32_MAX;
    switch (o->flags & CONDITION_MASK) {
    case WAIT_GEQ: return is_wide(o) ? (int64_t)(now - value) >= 0 : (int32_t)(uint32_t)(now - value) >= 0;
    case WAIT_EQ: return now == value;
    case WAIT_AND: return (now & value) != 0;
    default: return (~(now | value) & mask) != 0;
    }
}

/* Whether the context has failed or was canceled: then nothing is waited for. */
static bool is_given_up(const Stream *stream)
{
    const Context *context = stream->object.context;
    return atomic_load(&context->canceled) || context_error(context);
}

/* False if the memory was freed, or must be written and is read-only for all devices. */
static bool can_access(const Operation *o, bool write)
{
    MemoryRange range;
    return memory_map_find_for_call(driver_memory(), o->address, is_wide(o) ? 8 : 4, &range)
           && !(write && range.kind == MEMORY_MAPPED && !range.writers);
}

/* Waits until the condition holds, the work is given up or the memory is freed. */
static void await_value(const Operation *o, const Stream *stream)
{
    const struct timespec nap = {.tv_nsec = NAP_NANOSECONDS};
    for (unsigned polls = 0; !condition_holds(o) && !is_given_up(stream) && can_access(o, false); polls++)
        if (polls > POLLS) nanosleep(&nap, NULL);
}

void stream_values_do(const Operation *operations, unsigned count, Stream *stream)
{
    for (unsigned k = 0; k < count && !is_given_up(stream); k++) {
        const Operation *o = &operations[k];
        bool waits = o->operation == WAIT_32 || o->operation == WAIT_64;
        bool writes = is_write(o);
        if ((waits || writes) && !can_access(o, writes))
            memory_fail_closed(stream->object.context, writes ? "a write of a value" : "a wait for a value");
        else if (waits)
            await_value(o, stream);
        else if (writes)
            store_value(o);
    }
}

static void run(Task *self, Stream *stream)
{
    const ValuesTask *task = (const ValuesTask *)self;
    stream_values_do(task->operations, task->count, stream);
}

static void release(Task *self) { free(self); }

/* Checks everything except whether the word can be accessed. */
static CUresult check_form(const Operation *o)
{
    switch (o->operation) {
    case WAIT_32:
    case WAIT_64:
        if (o->flags & ~(unsigned)(CONDITION_MASK | FLUSH_BEFORE)) return CUDA_ERROR_INVALID_VALUE;
        if (o->flags & FLUSH_BEFORE) return CUDA_ERROR_NOT_SUPPORTED;
        break;
    case WRITE_32:
    case WRITE_64:
        if (o->flags) return CUDA_ERROR_INVALID_VALUE;
        break;
    case BARRIER: return CUDA_SUCCESS;
    case FLUSH: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return o->address % (is_wide(o) ? 8 : 4) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult stream_values_check(const Operation *operations, unsigned count, unsigned flags)
{
    if ((count && !operations) || count > MAX_OPERATIONS || flags) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < count; k++) TRY(check_form(&operations[k]));
    return CUDA_SUCCESS;
}

static CUresult submit_operations(Stream *stream, const Operation *operations, unsigned count)
{
    TRY(queue_wait_room(stream));
    ValuesTask *task = calloc(1, sizeof *task + count * sizeof *operations);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    task->task.run = run;
    task->task.release = release;
    task->task.endless = true;
    task->count = count;
    memcpy(task->operations, operations, count * sizeof *operations);
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count, CUstreamBatchMemOpParams *operations,
                               unsigned int flags)
{
    Stream *stream;
    TRY(driver_check());
    TRY(stream_values_check(operations, count, flags));
    for (unsigned k = 0; k < count; k++)
        if (operations[k].operation != BARRIER && !can_access(&operations[k], is_write(&operations[k])))
            return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = CUDA_SUCCESS;
    if (stream_is_captured(stream))
        result = capture_add_values(stream, operations, count);
    else if (count)
        result = submit_operations(stream, operations, count);
    PUT(stream);
    return result;
}

static CUresult single_operation(CUstream stream, int operation, CUdeviceptr address, uint64_t value,
                                 unsigned flags)
{
    Operation single = {.operation = operation, .address = address, .value = value, .flags = flags};
    return cuStreamBatchMemOp_v2(stream, 1, &single, 0);
}

/* The result of the first versions of the calls. */
static CUresult first_version(CUstream handle, Refused function)
{
    Stream *stream;
    TRY(stream_enter(handle, &stream));
    PUT(stream);
    return refuse(function);
}

/* The second version of a call, and its first one. */
#define VALUE(name, type, operation) \
    CUresult name##_v2(CUstream stream, CUdeviceptr address, type value, unsigned int flags) \
    { \
        return single_operation(stream, operation, address, value, flags); \
    } \
    CUresult name(CUstream stream, CUdeviceptr address, type value, unsigned int flags) \
    { \
        (void)address, (void)value, (void)flags; \
        return first_version(stream, REFUSED_##name); \
    }

VALUE(cuStreamWaitValue32, cuuint32_t, WAIT_32)
VALUE(cuStreamWaitValue64, cuuint64_t, WAIT_64)
VALUE(cuStreamWriteValue32, cuuint32_t, WRITE_32)
VALUE(cuStreamWriteValue64, cuuint64_t, WRITE_64)

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations,
                            unsigned int flags)
{
    (void)operations, (void)flags;
    if (count > MAX_OPERATIONS) return CUDA_ERROR_INVALID_VALUE;
    return first_version(stream, REFUSED_cuStreamBatchMemOp);
}
