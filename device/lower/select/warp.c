/* Collectives of a warp. Their guard becomes a branch around them, since only the lanes that execute them
 * take part.
 */
#include "lower/select/select.h"

/* The destinations d|p; *p is absent if the operand is d alone. */
static void pair_dest(Select *s, const PtxOperand *o, RegisterClass class, Ref *d, Ref *p)
{
    bool pair = o->kind == PTX_OPERAND_PAIR;
    *d = select_dest(s, pair ? &o->items[0] : o, class);
    *p = pair ? select_optional_dest(s, &o->items[1], CLASS_PREDICATE) : REF_ABSENT;
}

/* The mask of the lanes that take part, operand `index`; absent for a form without .sync, which has none. */
static Ref member_mask(Select *s, uint32_t index)
{
    if (!ptx_has(s->insn->form, PTX_MOD_sync)) return REF_ABSENT;
    return select_source(s, operand_at(s, index), PTX_b32);
}

/* Appends a collective with destinations d and e, which may be absent. */
static LowerInsn *emit_collective(Select *s, uint16_t op, Ref d, Ref e)
{
    LowerInsn *insn = select_emit(s, op);
    insn->d = d;
    insn->e = e;
    insn->flags |= FLAG_E_WRITTEN;
    return insn;
}

void select_shfl(Select *s)
{
    const PtxForm *form = s->insn->form;
    uint16_t op = ptx_has(form, PTX_MOD_up)     ? OP_shfl_up
                  : ptx_has(form, PTX_MOD_down) ? OP_shfl_down
                  : ptx_has(form, PTX_MOD_bfly) ? OP_shfl_bfly
                                                : OP_shfl_idx;
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d, p;
    pair_dest(s, operand_at(s, 0), CLASS_32, &d, &p);
    Ref a = select_source(s, operand_at(s, 1), PTX_b32);
    Ref b = select_source(s, operand_at(s, 2), PTX_b32);
    Ref c = select_source(s, operand_at(s, 3), PTX_b32);
    Ref mask = member_mask(s, 4);
    uint32_t more = lower_new_refs(s->f, &mask, 1);
    LowerInsn *insn = emit_collective(s, op, d, p);
    insn->a = a;
    insn->b = b;
    insn->c = c;
    insn->more = more;
    insn->more_count = 1;
    select_guarded_end(s, guarded);
}

void select_vote(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool ballot = ptx_has(form, PTX_MOD_ballot);
    uint16_t op = ballot                       ? OP_vote_ballot
                  : ptx_has(form, PTX_MOD_all) ? OP_vote_all
                  : ptx_has(form, PTX_MOD_any) ? OP_vote_any
                                               : OP_vote_uni;
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d = select_dest(s, operand_at(s, 0), ballot ? CLASS_32 : CLASS_PREDICATE);
    Ref a = select_predicate(s, operand_at(s, 1));
    Ref mask = member_mask(s, 2);
    LowerInsn *insn = emit_collective(s, op, d, REF_ABSENT);
    insn->a = a;
    insn->b = mask;
    select_guarded_end(s, guarded);
}

void select_match(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool all = ptx_has(form, PTX_MOD_all), wide = ptx_type_bits(form->types[0]) == 64;
    uint16_t op = all    ? (wide ? OP_match_all_b64 : OP_match_all_b32)
                  : wide ? OP_match_any_b64
                         : OP_match_any_b32;
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d, p;
    pair_dest(s, operand_at(s, 0), CLASS_32, &d, &p);
    Ref a = select_source(s, operand_at(s, 1), form->types[0]);
    Ref mask = member_mask(s, 2);
    LowerInsn *insn = emit_collective(s, op, d, p);
    insn->a = a;
    insn->b = mask;
    select_guarded_end(s, guarded);
}

/* The operation of redux.sync.what of 32-bit integers; OP_COUNT if there is none. */
static uint16_t redux_op(PtxModifier what, bool with_sign)
{
    switch (what) {
    case PTX_MOD_add: return OP_redux_add_b32;
    case PTX_MOD_min: return with_sign ? OP_redux_min_s32 : OP_redux_min_u32;
    case PTX_MOD_max: return with_sign ? OP_redux_max_s32 : OP_redux_max_u32;
    case PTX_MOD_and: return OP_redux_and_b32;
    case PTX_MOD_or: return OP_redux_or_b32;
    case PTX_MOD_xor: return OP_redux_xor_b32;
    default: return OP_COUNT;
    }
}

void select_redux(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxModifier what = form->group[PTX_GROUP_OPERATION];
    uint16_t op = redux_op(what, is_signed(form->types[0]));
    if (op == OP_COUNT || is_float(form->types[0])) {
        select_unsupported(s, "");
        return;
    }
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32);
    Ref a = select_source(s, operand_at(s, 1), PTX_b32);
    Ref mask = member_mask(s, 2);
    LowerInsn *insn = emit_collective(s, op, d, REF_ABSENT);
    insn->a = a;
    insn->b = mask;
    select_guarded_end(s, guarded);
}

void select_elect(Select *s)
{
    const PtxOperand *pair = operand_at(s, 0);
    if (pair->kind != PTX_OPERAND_PAIR) {
        select_unsupported(s, "");
        return;
    }
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d = select_optional_dest(s, &pair->items[0], CLASS_32);
    Ref p = select_dest(s, &pair->items[1], CLASS_PREDICATE);
    Ref mask = member_mask(s, 1);
    emit_collective(s, OP_elect, d, p)->b = mask;
    select_guarded_end(s, guarded);
}

void select_activemask(Select *s)
{
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32);
    select_emit(s, OP_activemask)->d = d;
}
