/* Adds registers, instructions and operands to a LowerFunction. */
#include "lower/ir.h"

Ref lower_new_register(LowerFunction *f, RegisterClass class)
{
    f->classes = arena_grow(f->scratch, f->classes, f->register_count, &f->register_capacity, 1);
    f->classes[f->register_count] = (uint8_t)class;
    return REF_MAKE(REF_FRAME, f->register_count++);
}

void lower_reserve(LowerFunction *f, uint32_t capacity)
{
    f->insns = ARENA_ARRAY(f->scratch, LowerInsn, capacity);
    f->insn_count = 0;
    f->insn_capacity = capacity;
}

LowerInsn *lower_new_insn(LowerFunction *f, uint16_t op, uint32_t line)
{
    LowerInsn *insn = lower_add_insn(f);
    *insn = (LowerInsn){.op = op,
                        .line = line,
                        .d = REF_ABSENT,
                        .a = REF_ABSENT,
                        .b = REF_ABSENT,
                        .c = REF_ABSENT,
                        .e = REF_ABSENT,
                        .guard = REF_ABSENT};
    return insn;
}

uint32_t lower_new_refs(LowerFunction *f, const Ref *refs, uint32_t count)
{
    uint32_t first = f->ref_count;
    for (uint32_t i = 0; i < count; i++) {
        f->refs = arena_grow(f->scratch, f->refs, f->ref_count, &f->ref_capacity, sizeof(Ref));
        f->refs[f->ref_count++] = refs[i];
    }
    return first;
}
