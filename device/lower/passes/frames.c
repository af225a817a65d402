/* One frame layout for all functions that are called.
 *
 * Groups of lanes that diverged may be in different functions, with frames at the same place of the warp's
 * register file. They leave each other's values alone only if each row there has elements of one size in all
 * functions. So all frames other than the kernels' have the same size, and their pools the same offsets.
 */
#include "lower/module.h"

#include <string.h>

typedef struct Shift {
    uint32_t from[FRAME_POOLS], to[FRAME_POOLS]; /* where each pool starts: its own layout, the common one */
} Shift;

/* Fills in where pools of these sizes start; returns their total size. */
static uint32_t set_starts(const uint32_t *sizes, uint32_t *starts)
{
    uint32_t at = 0;
    for (int i = 0; i < FRAME_POOLS; i++) {
        starts[i] = at;
        at += sizes[i];
    }
    return at;
}

/* Moves a register of a frame with its pool. As REF_FRAME is 0, its Ref is the offset in the frame. */
static void move_ref(const Shift *shift, Ref *ref)
{
    if (!ref_is_register(*ref)) return;
    int pool = FRAME_POOLS - 1;
    while (*ref < shift->from[pool]) pool--;
    *ref += shift->to[pool] - shift->from[pool];
}

/* Moves all registers of a function to the common layout. */
static void move_function(CodeFunction *code, const Shift *shift)
{
    for (uint32_t i = 0; i < code->insn_count; i++) {
        Insn *insn = &code->insns[i];
        move_ref(shift, &insn->d);
        move_ref(shift, &insn->a);
        move_ref(shift, &insn->b);
        move_ref(shift, &insn->c);
        move_ref(shift, &insn->e);
    }
    for (uint32_t i = 0; i < code->ref_count; i++) move_ref(shift, &code->refs[i]);
}

static bool is_called(const FunctionFacts *facts)
{
    return facts->code && !facts->tree->is_entry && !facts->tree->alias;
}

void lower_share_frames(Lower *lower)
{
    uint32_t largest[FRAME_POOLS] = {0};
    uint32_t count = lower->tree->function_count;
    for (uint32_t f = 0; f < count; f++)
        for (int i = 0; is_called(&lower->functions[f]) && i < FRAME_POOLS; i++)
            if (lower->functions[f].pools[i] > largest[i]) largest[i] = lower->functions[f].pools[i];
    for (uint32_t f = 0; f < count; f++) {
        FunctionFacts *facts = &lower->functions[f];
        if (!is_called(facts)) continue;
        Shift shift;
        set_starts(facts->pools, shift.from);
        facts->code->frame_size = set_starts(largest, shift.to);
        move_function(facts->code, &shift);
    }
}
