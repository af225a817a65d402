/* CUDA's device runtime: what device code calls to launch kernels, and the streams and events that go with
 * it.
 *
 * A stream is a number that distinguishes launches; each block has its own NULL stream. To wait for an event
 * is to wait for all launches before (children.h). The last error is each thread's own.
 */
#include "exec/runtime/runtime.h"

#include <string.h>

#include "exec/state/ranges.h"

/* Values of cudaStream_t with a meaning of their own: 0 (NULL), 1 (legacy) and 2 (per thread), which are
 * treated alike, and these. */
enum {
    STREAM_TAIL = 3,
    STREAM_FREE = 4, /* fire and forget */
    STREAM_LAST = STREAM_FREE
};
enum { FIRST_HANDLE = 4096 }; /* of streams and events that kernels create */
/* The only flags with which device code may create a stream or an event. */
enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

const GridLaunch *runtime_launch(const RuntimeCall *c) { return c->warp->block->grid->launch; }

static Children *children_of(const RuntimeCall *c) { return c->warp->block->grid->children; }

/* Sets the last error of the call's thread, unless error is 0. */
static void note_error(RuntimeCall *c, int error)
{
    if (!error) return;
    c->warp->erred |= 1u << c->lane;
    c->warp->last_error[c->lane] = (uint16_t)error;
}

uint64_t runtime_store(RuntimeCall *c, uint64_t address, uint64_t value, uint32_t size)
{
    if (range_find(c->warp, c->insn, address, size, true)) {
        memcpy((void *)(uintptr_t)address, &value, size);
        return 0;
    }
    c->faulted = !exec_fault_access(c->warp, c->insn, c->lane, address, size, true);
    return 0;
}

/* --- streams and events -------------------------------------------------------------------------------- */

/* Whether a kernel of the tree of launches has created a stream or an event with that number. */
static bool is_handle(const RuntimeCall *c, uint64_t handle)
{
    return handle - FIRST_HANDLE < atomic_load(&runtime_launch(c)->runtime->handles);
}

int runtime_order(const RuntimeCall *c, uint64_t stream, ChildOrder *order, uint64_t *queue)
{
    bool own = stream > STREAM_LAST;
    if (own && !is_handle(c, stream)) return RUNTIME_INVALID_HANDLE;
    *order = stream == STREAM_TAIL ? CHILD_TAIL : stream == STREAM_FREE ? CHILD_FREE : CHILD_QUEUED;
    *queue = own ? stream : c->warp->block->linear;
    return 0;
}

/* Creates a stream or an event and stores its number; `wanted`: the flags that are required. */
static uint64_t new_handle(RuntimeCall *c, uint32_t flags, uint32_t wanted)
{
    if (flags != wanted) return RUNTIME_INVALID_VALUE;
    uint64_t handle = FIRST_HANDLE + atomic_fetch_add(&runtime_launch(c)->runtime->handles, 1);
    return runtime_store(c, c->values[0], handle, sizeof handle);
}

static bool is_stream(const RuntimeCall *c, uint64_t handle)
{
    return handle <= STREAM_LAST || is_handle(c, handle);
}

static uint64_t check_runtime_handle(const RuntimeCall *c, uint64_t handle)
{
    return is_handle(c, handle) ? 0 : RUNTIME_INVALID_HANDLE;
}

uint64_t runtime_StreamCreateWithFlags(RuntimeCall *c)
{
    return new_handle(c, (uint32_t)c->values[1], STREAM_NON_BLOCKING);
}

uint64_t runtime_EventCreateWithFlags(RuntimeCall *c)
{
    return new_handle(c, (uint32_t)c->values[1], EVENT_DISABLE_TIMING);
}

uint64_t runtime_StreamDestroy(RuntimeCall *c) { return check_runtime_handle(c, c->values[0]); }
uint64_t runtime_EventDestroy(RuntimeCall *c) { return check_runtime_handle(c, c->values[0]); }

uint64_t runtime_StreamWaitEvent(RuntimeCall *c)
{
    if (!is_stream(c, c->values[0]) || !is_handle(c, c->values[1])) return RUNTIME_INVALID_HANDLE;
    children_wait(children_of(c));
    return 0;
}

uint64_t runtime_EventRecord(RuntimeCall *c)
{
    return is_stream(c, c->values[1]) ? check_runtime_handle(c, c->values[0]) : RUNTIME_INVALID_HANDLE;
}

uint64_t runtime_EventRecordWithFlags(RuntimeCall *c)
{
    return (uint32_t)c->values[2] ? RUNTIME_INVALID_VALUE : runtime_EventRecord(c);
}

/* --- launches ------------------------------------------------------------------------------------------ */

/* The arguments from `values` on: grid, block, bytes of dynamic shared memory. */
static ChildShape child_shape(const uint64_t *values)
{
    ChildShape shape = {.shared = (uint32_t)values[6]};
    for (int k = 0; k < 3; k++) {
        shape.grid[k] = (uint32_t)values[k];
        shape.block[k] = (uint32_t)values[3 + k];
    }
    return shape;
}

static uint64_t launch_child(RuntimeCall *c, uint64_t buffer, const ChildCall *call, uint64_t stream)
{
    ChildOrder order;
    uint64_t queue;
    int error = runtime_order(c, stream, &order, &queue);
    if (!error) error = children_launch(children_of(c), runtime_launch(c), buffer, call, order, queue);
    return (uint64_t)error;
}

uint64_t runtime_GetParameterBufferV2(RuntimeCall *c)
{
    ChildCall call = {c->values[0], child_shape(&c->values[1])};
    int error;
    uint64_t buffer = children_open(children_of(c), runtime_launch(c), &call, &error);
    note_error(c, error);
    return buffer;
}

uint64_t runtime_LaunchDeviceV2(RuntimeCall *c) { return launch_child(c, c->values[0], NULL, c->values[1]); }

/* The older pair of functions, of which the second one names the kernel. */
uint64_t runtime_GetParameterBuffer(RuntimeCall *c)
{
    int error;
    uint64_t buffer = children_reserve(children_of(c), runtime_launch(c), c->values[0], c->values[1], &error);
    note_error(c, error);
    return buffer;
}

uint64_t runtime_LaunchDevice(RuntimeCall *c)
{
    ChildCall call = {c->values[0], child_shape(&c->values[2])};
    return launch_child(c, c->values[1], &call, c->values[9]);
}

uint64_t runtime_GraphLaunch(RuntimeCall *c)
{
    const DeviceRuntime *runtime = runtime_launch(c)->runtime;
    int error = runtime->launch_graph(runtime->graph_launches, c->values[0], c->values[1]);
    if (error != RUNTIME_NO_GRAPH) return (uint64_t)error;
    exec_fault(c->warp, c->insn, c->lane, CUDA_ERROR_ILLEGAL_ADDRESS,
               "cudaGraphLaunch: 0x%llx is no graph that was instantiated for launches by kernels",
               (unsigned long long)c->values[0]);
    c->faulted = true;
    return 0;
}

/* --- errors -------------------------------------------------------------------------------------------- */

uint64_t runtime_PeekAtLastError(RuntimeCall *c)
{
    return c->warp->erred >> c->lane & 1 ? c->warp->last_error[c->lane] : 0;
}

uint64_t runtime_GetLastError(RuntimeCall *c)
{
    uint64_t error = runtime_PeekAtLastError(c);
    c->warp->erred &= ~(1u << c->lane);
    return error;
}

/* --- the device's heap --------------------------------------------------------------------------------- */

uint64_t runtime_Malloc(RuntimeCall *c)
{
    DeviceHeap *heap = runtime_launch(c)->heap;
    uint64_t address = heap ? device_heap_alloc(heap, c->values[1], 256) : 0;
    runtime_store(c, c->values[0], address, sizeof address);
    return address || !c->values[1] ? 0 : RUNTIME_OUT_OF_MEMORY;
}

uint64_t runtime_Free(RuntimeCall *c)
{
    DeviceHeap *heap = runtime_launch(c)->heap;
    uint64_t address = c->values[0];
    return !address || (heap && device_heap_free(heap, address)) ? 0 : RUNTIME_INVALID_VALUE;
}

/* --- from the instruction to the function -------------------------------------------------------------- */

static const struct {
    uint64_t (*call)(RuntimeCall *c);
    uint32_t bits;
    const char *arguments;
} functions[] = {
#define RUNTIME(name, bits, arguments) {runtime_##name, bits, arguments},
#define RUNTIME_SAME(name, other, bits, arguments) {runtime_##other, bits, arguments},
#include "exec/runtime/runtime.def"
#undef RUNTIME
#undef RUNTIME_SAME
};

/* Sets c->values to the arguments of the call's lane, whose types `arguments` says (runtime.def). */
static void read_values(RuntimeCall *c, const Ref *refs, const char *arguments)
{
    uint32_t count = 0;
    for (const char *type = arguments; *type; type++)
        for (uint32_t k = 0; k < runtime_members(*type); k++, refs++)
            c->values[count++] = runtime_member_size(*type) == 8
                                     ? ROW(const uint64_t, c->warp, *refs)[c->lane]
                                     : ROW(const uint32_t, c->warp, *refs)[c->lane];
}

static bool reads_or_clears_errors(RuntimeFunction f)
{
    return f == RUNTIME_GetLastError || f == RUNTIME_PeekAtLastError;
}

const Insn *runtime_call(Warp *warp, const Insn *insn)
{
    RuntimeFunction f = (RuntimeFunction)insn->imm;
    RuntimeCall c = {.warp = warp, .insn = insn};
    if (!runtime_launch(&c)->runtime)
        return exec_fault(warp, insn, __builtin_ctz(warp->mask), CUDA_ERROR_LAUNCH_FAILED,
                          "kernels cannot launch kernels here");
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
