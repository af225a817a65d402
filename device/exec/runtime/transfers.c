/* The device runtime's copies and fills: arguments to a Transfer, which is launched in the stream. */
#include <string.h>

#include "exec/runtime/runtime.h"
#include "exec/state/ranges.h"

/* The values of cudaMemcpyKind that kernels may use. */
enum { COPY_DEVICE_TO_DEVICE = 3, COPY_DEFAULT = 4 };

/* The layout of cudaMemcpy3DParms; from, to: cudaPitchedPtr. */
typedef struct Copy3D {
    uint64_t from_array, from_position[3], from[4];
    uint64_t to_array, to_position[3], to[4];
    uint64_t extent[3];
    uint32_t kind, padding;
} Copy3D;

static bool is_kind(uint64_t kind)
{
    return (uint32_t)kind == COPY_DEVICE_TO_DEVICE || (uint32_t)kind == COPY_DEFAULT;
}

static bool is_empty(const Transfer *t) { return !t->width || !t->height || !t->depth; }

static bool rows_overlap(const Transfer *t, const TransferSide *side)
{
    return side->pitch < t->width && (t->height > 1 || t->depth > 1);
}

/* Checks the transfer and launches it in the stream. Returns 0 or the error. */
static uint64_t submit_transfer(RuntimeCall *c, uint64_t stream, Transfer *transfer)
{
    Grid *grid = c->warp->block->grid;
    ChildOrder order;
    uint64_t queue;
    int error = runtime_order(c, stream, &order, &queue);
    if (error) return (uint64_t)error;
    if (is_empty(transfer)) return 0;
    if (rows_overlap(transfer, &transfer->to) || (!transfer->fill && rows_overlap(transfer, &transfer->from)))
        return RUNTIME_INVALID_PITCH;
    if (!transfer_is_valid(transfer)) return RUNTIME_INVALID_VALUE;
    transfer->kernel = grid->function->name;
    return (uint64_t)children_transfer(grid->children, grid->launch, transfer, order, queue);
}

/* (to, from, count, kind, stream) */
uint64_t runtime_MemcpyAsync(RuntimeCall *c)
{
    const uint64_t *v = c->values, count = v[2];
    Transfer transfer = {.name = "cudaMemcpyAsync",
                         .to = {v[0], count, count},
                         .from = {v[1], count, count},
                         .width = count,
                         .height = 1,
                         .depth = 1};
    return is_kind(v[3]) ? submit_transfer(c, v[4], &transfer) : RUNTIME_INVALID_DIRECTION;
}

/* (to, its pitch, from, its pitch, width, height, kind, stream) */
uint64_t runtime_Memcpy2DAsync(RuntimeCall *c)
{
    const uint64_t *v = c->values;
    Transfer transfer = {.name = "cudaMemcpy2DAsync",
                         .to = {v[0], v[1], 0},
                         .from = {v[2], v[3], 0},
                         .width = v[4],
                         .height = v[5],
                         .depth = 1};
    return is_kind(v[6]) ? submit_transfer(c, v[7], &transfer) : RUNTIME_INVALID_DIRECTION;
}

/* The side at a position (x in bytes, y, z; NULL: the start) of a cudaPitchedPtr (address, pitch, width,
 * height). */
static TransferSide side_of(const uint64_t pitched[4], const uint64_t position[3])
{
    uint64_t layer = pitched[1] * pitched[3];
    uint64_t offset = position ? position[2] * layer + position[1] * pitched[1] + position[0] : 0;
    return (TransferSide){pitched[0] + offset, pitched[1], layer};
}

uint64_t runtime_Memcpy3DAsync(RuntimeCall *c)
{
    uint64_t address = c->values[0];
    Copy3D copy;
    if (!range_find(c->warp, c->insn, address, sizeof copy, false)) {
        c->faulted = !exec_fault_access(c->warp, c->insn, c->lane, address, sizeof(uint64_t), false);
        return 0;
    }
    memcpy(&copy, (const void *)(uintptr_t)address, sizeof copy);
    if (copy.from_array || copy.to_array) return RUNTIME_NOT_SUPPORTED;
    Transfer transfer = {.name = "cudaMemcpy3DAsync",
                         .to = side_of(copy.to, copy.to_position),
                         .from = side_of(copy.from, copy.from_position),
                         .width = copy.extent[0],
                         .height = copy.extent[1],
                         .depth = copy.extent[2]};
    return is_kind(copy.kind) ? submit_transfer(c, c->values[1], &transfer) : RUNTIME_INVALID_DIRECTION;
}

/* (pointer, value, count, stream) */
uint64_t runtime_MemsetAsync(RuntimeCall *c)
{
    const uint64_t *v = c->values;
    Transfer transfer = {.name = "cudaMemsetAsync",
                         .to = {v[0], v[2], v[2]},
                         .fill = true,
                         .value = (uint8_t)v[1],
                         .width = v[2],
                         .height = 1,
                         .depth = 1};
    return submit_transfer(c, v[3], &transfer);
}

/* (pointer, pitch, value, width, height, stream) */
uint64_t runtime_Memset2DAsync(RuntimeCall *c)
{
    const uint64_t *v = c->values;
    Transfer transfer = {.name = "cudaMemset2DAsync",
                         .to = {v[0], v[1], 0},
                         .fill = true,
                         .value = (uint8_t)v[2],
                         .width = v[3],
                         .height = v[4],
                         .depth = 1};
    return submit_transfer(c, v[5], &transfer);
}

/* (cudaPitchedPtr of four words, value, cudaExtent of three, stream) */
uint64_t runtime_Memset3DAsync(RuntimeCall *c)
{
    const uint64_t *v = c->values;
    Transfer transfer = {.name = "cudaMemset3DAsync",
                         .to = side_of(v, NULL),
                         .fill = true,
                         .value = (uint8_t)v[4],
                         .width = v[5],
                         .height = v[6],
                         .depth = v[7]};
    return submit_transfer(c, v[8], &transfer);
}
