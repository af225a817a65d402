/* CUDA's device runtime: what device code calls to launch kernels, and what goes with that.
 *
 * A stream is a number that tells launches apart; each block has its own NULL stream. To wait for an event is to wait
 * for all launches before (children.h). The last error is each thread's own.
 */
#include "exec/runtime.h"

#include <string.h>

#include "exec/state.h"

enum {
    STREAM_TAIL = 3,
    STREAM_FREE = 4,            /* fire and forget */
    STREAM_LAST = 4,            /* of those with a meaning: NULL, legacy, per thread and these two */
    FIRST_HANDLE = 4096,        /* of streams and events that kernels make */
    STREAM_NON_BLOCKING = 1,
    EVENT_DISABLE_TIMING = 2
};

typedef struct Call {
    Warp *warp;
    const Insn *insn;
    int lane;
    uint64_t values[RUNTIME_VALUES];
    bool faulted;
} Call;

static const GridLaunch *parent_of(const Call *c) { return c->warp->block->grid->launch; }

static void note_error(Call *c, int error)
{
    if (!error) return;
    c->warp->erred |= 1u << c->lane;
    c->warp->last_error[c->lane] = (uint16_t)error;
}

/* Writes a result to the address that the thread gave. */
static int store(Call *c, uint64_t address, uint64_t value, uint32_t size)
{
    if (range_find(c->warp, c->insn, address, size, true)) {
        memcpy((void *)(uintptr_t)address, &value, size);
        return 0;
    }
    exec_fault_access(c->warp, c->insn, c->lane, address, size, true);
    c->faulted = true;
    return 0;
}

/* --- launches ------------------------------------------------------------------------------------------- */

static uint64_t call_GetParameterBufferV2(Call *c)
{
    Grid *grid = c->warp->block->grid;
    ChildShape shape;
    int error;
    for (int k = 0; k < 3; k++) {
        shape.grid[k] = (uint32_t)c->values[1 + k];
        shape.block[k] = (uint32_t)c->values[4 + k];
    }
    shape.shared = (uint32_t)c->values[7];
    uint64_t buffer = children_open(grid->children, grid->launch, c->values[0], &shape, &error);
    note_error(c, error);
    return buffer;
}

static bool is_handle(const Call *c, uint64_t handle)
{
    return handle - FIRST_HANDLE < atomic_load(&parent_of(c)->runtime->handles);
}

static uint64_t call_LaunchDeviceV2(Call *c)
{
    Grid *grid = c->warp->block->grid;
    uint64_t stream = c->values[1];
    if (stream > STREAM_LAST && !is_handle(c, stream)) return RUNTIME_INVALID_HANDLE;
    ChildOrder order = stream == STREAM_TAIL ? CHILD_TAIL : stream == STREAM_FREE ? CHILD_FREE : CHILD_OF_LANE;
    uint64_t lane = stream > STREAM_LAST ? stream : c->warp->block->linear;
    return (uint64_t)children_launch(grid->children, grid->launch, c->values[0], order, lane);
}

static uint64_t call_LaunchDeviceV2_ptsz(Call *c) { return call_LaunchDeviceV2(c); }

/* --- errors --------------------------------------------------------------------------------------------- */

static uint64_t call_PeekAtLastError(Call *c)
{
    return c->warp->erred >> c->lane & 1 ? c->warp->last_error[c->lane] : 0;
}

static uint64_t call_GetLastError(Call *c)
{
    uint64_t error = call_PeekAtLastError(c);
    c->warp->erred &= ~(1u << c->lane);
    return error;
}

/* --- streams and events --------------------------------------------------------------------------------- */

static uint64_t new_handle(Call *c, uint32_t flags, uint32_t wanted)
{
    if (flags != wanted) return RUNTIME_INVALID_VALUE;
    uint64_t handle = FIRST_HANDLE + atomic_fetch_add(&parent_of(c)->runtime->handles, 1);
    return (uint64_t)store(c, c->values[0], handle, sizeof handle);
}

static uint64_t known(const Call *c, uint64_t handle)
{
    return handle <= STREAM_LAST || is_handle(c, handle) ? 0 : RUNTIME_INVALID_HANDLE;
}

static uint64_t known_event(const Call *c, uint64_t handle)
{
    return is_handle(c, handle) ? 0 : RUNTIME_INVALID_HANDLE;
}

static uint64_t call_StreamCreateWithFlags(Call *c)
{
    return new_handle(c, (uint32_t)c->values[1], STREAM_NON_BLOCKING);
}

static uint64_t call_EventCreateWithFlags(Call *c)
{
    return new_handle(c, (uint32_t)c->values[1], EVENT_DISABLE_TIMING);
}

static uint64_t call_StreamDestroy(Call *c) { return known_event(c, c->values[0]); }
static uint64_t call_EventDestroy(Call *c) { return known_event(c, c->values[0]); }

static uint64_t call_StreamWaitEvent(Call *c)
{
    if (known(c, c->values[0]) || known_event(c, c->values[1])) return RUNTIME_INVALID_HANDLE;
    children_wait(c->warp->block->grid->children);
    return 0;
}

static uint64_t call_EventRecord(Call *c)
{
    return known(c, c->values[1]) ? RUNTIME_INVALID_HANDLE : known_event(c, c->values[0]);
}

static uint64_t call_StreamWaitEvent_ptsz(Call *c) { return call_StreamWaitEvent(c); }
static uint64_t call_EventRecord_ptsz(Call *c) { return call_EventRecord(c); }

/* --- the device and its heap ---------------------------------------------------------------------------- */

static uint64_t call_GetDevice(Call *c)
{
    return (uint64_t)store(c, c->values[0], (uint64_t)parent_of(c)->runtime->device, sizeof(int));
}

static uint64_t call_Malloc(Call *c)
{
    DeviceHeap *heap = parent_of(c)->heap;
    uint64_t address = heap ? device_heap_alloc(heap, c->values[1], 256) : 0;
    store(c, c->values[0], address, sizeof address);
    return address || !c->values[1] ? 0 : RUNTIME_OUT_OF_MEMORY;
}

static uint64_t call_Free(Call *c)
{
    DeviceHeap *heap = parent_of(c)->heap;
    uint64_t address = c->values[0];
    return !address || (heap && device_heap_free(heap, address)) ? 0 : RUNTIME_INVALID_VALUE;
}

/* --- from the instruction to the function --------------------------------------------------------------- */

static const struct {
    uint64_t (*call)(Call *c);
    uint32_t bits;
    const char *arguments;
} functions[] = {
#define RUNTIME(name, bits, arguments) {call_##name, bits, arguments},
#include "exec/runtime.def"
#undef RUNTIME
};

static void read_values(Call *c, const Ref *refs, const char *arguments)
{
    uint32_t count = 0;
    for (const char *type = arguments; *type; type++) {
        if (*type == 'p') c->values[count++] = ROW(const uint64_t, c->warp, *refs++)[c->lane];
        for (int k = *type == 'd' ? 3 : *type == 'u'; k > 0; k--)
            c->values[count++] = ROW(const uint32_t, c->warp, *refs++)[c->lane];
    }
}

static bool reads_or_clears_errors(RuntimeFunction f)
{
    return f == RUNTIME_GetLastError || f == RUNTIME_PeekAtLastError;
}

const Insn *runtime_call(Warp *warp, const Insn *insn)
{
    RuntimeFunction f = (RuntimeFunction)insn->imm;
    Call c = {.warp = warp, .insn = insn};
    if (!parent_of(&c)->runtime)
        return exec_fault(warp, insn, __builtin_ctz(warp->mask), 719, "kernels cannot launch kernels here");
    for (uint32_t rest = warp->mask; rest && !c.faulted; rest &= rest - 1) {
        c.lane = __builtin_ctz(rest);
        read_values(&c, warp->current->function->refs + insn->more, functions[f].arguments);
        uint64_t result = functions[f].call(&c);
        if (functions[f].bits == 64) {
            ROW(uint64_t, warp, insn->d)[c.lane] = result;
        } else {
            ROW(uint32_t, warp, insn->d)[c.lane] = (uint32_t)result;
            if (!reads_or_clears_errors(f)) note_error(&c, (int)result);
        }
    }
    return c.faulted ? NULL : insn + 1;
}
