/* Calls, returns and jumps through tables: every lane has its own return address.
 *
 * The header before a callee's frame holds, lane by lane, where the lane goes on, in which function
 * and local frame. Groups whose lanes return to different places split there, so lanes with different
 * callers may run a callee together.
 */
#include <string.h>

#include "exec/control/calls.h"
#include "exec/control/group.h"
#include "exec/state/grid.h"
#include "exec/state/store.h"

enum { REGISTERS_LIMIT = 64 << 20 }; /* bytes of a warp's register file: calls nested too deep end here */

typedef struct CallHeader {
    const Insn *pc[WARP_LANES];
    const CodeFunction *function[WARP_LANES];
    uint32_t local[WARP_LANES];
    uint32_t dynamic[WARP_LANES];
} CallHeader;

_Static_assert(sizeof(CallHeader) <= WARP_CALL_HEADER, "the header's size is part of the contract");

static CallHeader *header_of(const Warp *warp, const Group *g)
{
    return (CallHeader *)(void *)(warp->registers + g->frame - WARP_CALL_HEADER);
}

static int first_lane(uint32_t mask) { return __builtin_ctz(mask); }

/* Makes room for the callee's frames, and in the register file for the header and the rows after its frame,
 * in which it puts the arguments of its own calls. False after a fault: stack overflow. */
static bool room_for(Warp *warp, const Insn *insn, const CodeFunction *callee)
{
    const Group *g = warp->current;
    const Grid *grid = warp->block->grid;
    size_t registers = (size_t)g->frame + g->function->frame_size + 2 * WARP_CALL_HEADER + callee->frame_size
                       + WARP_CALL_ROWS;
    size_t local = (size_t)g->local + g->function->local_size + callee->local_size + g->dynamic;
    if (local > grid->local_size) {
        exec_fault(
            warp, insn, first_lane(warp->mask), CUDA_ERROR_LAUNCH_FAILED,
            "stack overflow: calling %s needs %zu bytes of local memory, a thread has %u (see the stack "
            "size limit)",
            callee->name, local, grid->local_size);
        return false;
    }
    if (registers > REGISTERS_LIMIT || (registers > warp->registers_size && !store_grow(warp, registers))) {
        exec_fault(warp, insn, first_lane(warp->mask), CUDA_ERROR_LAUNCH_FAILED,
                   "stack overflow: calling %s at depth %u", callee->name, g->depth + 1);
        return false;
    }
    return true;
}

const Insn *call_enter(Warp *warp, const Insn *insn, const CodeFunction *callee, uint32_t lanes)
{
    Group *g = warp->current;
    const CodeFunction *caller = g->function;
    CallHeader *header;
    if (!room_for(warp, insn, callee)) return NULL;
    if (g->mask & ~lanes) group_fork(warp, g->mask & ~lanes, insn + 1);
    g->frame += caller->frame_size + WARP_CALL_HEADER;
    header = header_of(warp, g);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        header->pc[l] = insn + 1;
        header->function[l] = caller;
        header->local[l] = g->local;
        header->dynamic[l] = g->dynamic;
    }
    g->local += caller->local_size;
    g->depth++;
    g->function = callee;
    g->pc = callee->insns;
    return group_next(warp);
}

/* Whether the value, which may be any number, is the address of a function of the module. */
static bool is_function(const CodeModule *module, uint64_t value)
{
    for (uint32_t k = 0; k < module->function_count; k++) {
        if ((uint64_t)(uintptr_t)module->functions[k] == value) return true;
    }
    return false;
}

/* Calls the function whose address is in each lane's register: for the lanes with the first lane's address
 * now; the others become a group that executes the instruction again. */
const Insn *call_indirect(Warp *warp, const Insn *insn, uint32_t lanes)
{
    const uint64_t *address = ROW(const uint64_t, warp, insn->a);
    uint64_t value = address[first_lane(lanes)];
    uint32_t same = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        if (address[l] == value) same |= 1u << l;
    }
    if (!is_function(warp->current->function->module, value))
        return exec_fault(warp, insn, first_lane(lanes), CUDA_ERROR_ILLEGAL_ADDRESS,
                          "call through 0x%llx, which is not a function", (unsigned long long)value);
    if (lanes & ~same) {
        group_fork(warp, lanes & ~same, insn);
        lanes = same;
    }
    return call_enter(warp, insn, (const CodeFunction *)(uintptr_t)value, lanes);
}

/* Puts a group back into its caller. All its lanes return to the same place, so lane l's header serves. */
static void return_to(Warp *warp, Group *g, int l)
{
    const CallHeader *header = header_of(warp, g);
    const CodeFunction *caller = header->function[l];
    g->pc = header->pc[l];
    g->function = caller;
    g->local = header->local[l];
    g->dynamic = header->dynamic[l];
    g->frame -= caller->frame_size + WARP_CALL_HEADER;
    g->depth--;
}

/* Of `lanes`, those that return to the same place as lane l. */
static uint32_t lanes_with_return(const CallHeader *header, uint32_t lanes, int l)
{
    uint32_t same = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int k = first_lane(rest);
        if (header->pc[k] == header->pc[l] && header->local[k] == header->local[l]
            && header->dynamic[k] == header->dynamic[l])
            same |= 1u << k;
    }
    return same;
}

/* A callee's group that had several callers becomes a group for each place to return to. */
const Insn *call_return(Warp *warp, const Insn *insn, uint32_t lanes)
{
    Group *g = warp->current;
    if (g->depth == 0) return group_exit(warp, lanes, insn + 1);
    if (g->mask & ~lanes) group_fork(warp, g->mask & ~lanes, insn + 1);
    for (;;) {
        int l = first_lane(g->mask);
        uint32_t same = lanes_with_return(header_of(warp, g), g->mask, l);
        if (same == g->mask) break;
        return_to(warp, group_divide(warp, same, insn), l);
    }
    return_to(warp, g, first_lane(g->mask));
    return group_next(warp);
}

/* The group is split by target; the lanes of the last target go on as the running group. */
const Insn *call_table(Warp *warp, const Insn *insn)
{
    const CodeTable *table = insn->pointer;
    const uint32_t *index = ROW(const uint32_t, warp, insn->a);
    Group *g = warp->current;
    for (uint32_t rest = g->mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        if (index[l] >= table->count)
            return exec_fault(warp, insn, l, CUDA_ERROR_LAUNCH_FAILED,
                              "brx.idx with index %u of a table of %u targets", index[l], table->count);
    }
    for (;;) {
        const Insn *target = table->targets[index[first_lane(g->mask)]];
        uint32_t same = 0;
        for (uint32_t rest = g->mask; rest; rest &= rest - 1) {
            int l = first_lane(rest);
            if (table->targets[index[l]] == target) same |= 1u << l;
        }
        if (same == g->mask) {
            g->pc = target;
            break;
        }
        group_fork(warp, same, target);
    }
    if (--warp->fuel == 0) return group_yield(warp, g->pc);
    return warp->group_count == 1 ? g->pc : group_next(warp);
}
