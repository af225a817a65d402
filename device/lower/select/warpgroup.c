/* wgmma: products of a warpgroup, of which each warp computes its 16 rows by itself when it comes to the
 * instruction. So fences and groups have nothing to wait for. */
#include "lower/select/matrix.h"

enum { WARP_ROWS_OF_A = 16, TILE_COLUMNS = 8, A_BITS = 256 /* of a row of a, as stored */ };

/* Whether the form's n is one for these types: of integers and bits 8, 24 or a multiple of 16. */
static bool columns_fit(const PtxForm *form, MatrixType d)
{
    return d != MATRIX_S32 || form->columns % 16 == 0 || form->columns == 8 || form->columns == 24;
}

static Fragment fragment(MatrixRole role, MatrixType type, unsigned rows, unsigned columns)
{
    Fragment f = {
        .role = (uint8_t)role, .type = (uint8_t)type, .rows = (uint16_t)rows, .columns = (uint16_t)columns};
    f.registers = (uint8_t)fragment_needed(&f);
    return f;
}

/* Fills in what the mnemonic says. False after an error. */
static bool read_mnemonic(Select *s, WarpgroupProduct *w)
{
    const PtxForm *form = s->insn->form;
    MatrixType d = matrix_type(form->types[0]), a = matrix_type(form->types[1]),
               b = matrix_type(form->types[2]);
    MatrixProduct *p = &w->tile;
    p->sparse = ptx_has(form, PTX_MOD_sp);
    if (!columns_fit(form, d)) {
        select_error(s, 0, "there is no such instruction with %u columns", form->columns);
        return false;
    }
    w->d = fragment(MATRIX_C, d, WARP_ROWS_OF_A, form->columns);
    p->warpgroup = true;
    p->d = p->c = fragment(MATRIX_C, d, WARP_ROWS_OF_A, TILE_COLUMNS);
    p->a = fragment(MATRIX_A, a, WARP_ROWS_OF_A, A_BITS / matrix_type_bits(a));
    p->b = fragment(MATRIX_B, b, p->a.columns * (p->sparse ? 2u : 1u), TILE_COLUMNS);
    p->saturated = ptx_has(form, PTX_MOD_satfinite);
    p->conjunction = true;
    return true;
}

/* --- operands after the matrices ------------------------------------------------------------------------ */

/* Reads operand number `at`, which must be one of two numbers, the second of which sets *flag. */
static bool read_choice(Select *s, uint32_t at, int64_t off, int64_t on, bool *flag)
{
    const PtxOperand *o = operand_at(s, at);
    int64_t value = (int64_t)ptx_immediate_bits(o, PTX_s64);
    *flag = value == on;
    if (value == off || value == on) return true;
    select_error(s, o->column, "%lld or %lld is expected here, found %lld", (long long)off, (long long)on,
                 (long long)value);
    return false;
}

static bool read_selector(Select *s, uint32_t at, MatrixProduct *p)
{
    const PtxOperand *o = operand_at(s, at);
    uint64_t value = ptx_immediate_bits(o, PTX_u64), count = matrix_selectors(&p->a);
    p->selector = (uint8_t)value;
    if (value < count) return true;
    select_error(s, o->column, "the sparsity selector of this shape and type is at most %llu, found %lld",
                 (unsigned long long)count - 1, (long long)value);
    return false;
}

/* Reads the numbers that follow the predicate, which is operand number `at`: factors of a and b, then for
 * types of 16 bits which matrices in shared memory are transposed. False after an error. */
static bool read_numbers(Select *s, uint32_t at, WarpgroupProduct *w)
{
    bool halves = matrix_type_bits(w->tile.a.type) == 16;
    if (w->d.type != MATRIX_S32
        && !(read_choice(s, at + 1, 1, -1, &w->a_negated) && read_choice(s, at + 2, 1, -1, &w->b_negated)))
        return false;
    if (!halves) return true;
    if (w->a_shared && !read_choice(s, at + 3, 0, 1, &w->a_transposed)) return false;
    return read_choice(s, at + 3 + w->a_shared, 0, 1, &w->b_transposed);
}

/* --- the instruction ------------------------------------------------------------------------------------ */

/* Adds d, once as destinations and once as sources. Registers of floats have no other results than floats. */
static bool add_results(Select *s, const Fragment *d, Registers *r)
{
    const PtxOperand *o = operand_at(s, 0);
    uint32_t count;
    const PtxOperand *items = elements_of(o, &count);
    for (uint32_t k = 0; k < count; k++) {
        if (items[k].kind == PTX_OPERAND_REGISTER && (d->type == MATRIX_F32 || items[k].type != PTX_f32))
            continue;
        select_error(s, items[k].column, "a register of this type cannot be a part of d");
        return false;
    }
    return select_registers(s, o, d, true, r) && select_registers(s, o, d, false, r);
}

/* The scale of d as a register: 1 where d is a summand, else 0. */
static Ref scale_of(Select *s, const PtxOperand *o)
{
    Ref scale = lower_new_register(s->f, CLASS_32);
    LowerInsn *insn;
    Ref p = select_predicate(s, o), one = lower_constant(s->lower, CLASS_32, 1, 0),
        zero = lower_constant(s->lower, CLASS_32, 0, 0);
    insn = select_emit(s, OP_selp_b32);
    insn->d = scale;
    insn->a = one;
    insn->b = zero;
    insn->c = p;
    return scale;
}

static void select_product(Select *s)
{
    static const Fragment word = {.type = MATRIX_B1, .registers = 1};
    WarpgroupProduct *w = ARENA_ZEROS(s->lower->keep, WarpgroupProduct, 1);
    const PtxOperand *a = operand_at(s, 1);
    Registers r = {.count = 0};
    if (!read_mnemonic(s, w)) return;
    w->a_shared = a->kind != PTX_OPERAND_VECTOR;
    uint32_t scale = w->tile.sparse ? 5 : 3;
    if (!read_numbers(s, scale, w) || (w->tile.sparse && !read_selector(s, 4, &w->tile))) return;
    GuardedBlock guarded = select_guarded_begin(s);
    if (add_results(s, &w->d, &r) && (w->a_shared || select_registers(s, a, &w->tile.a, false, &r))
        && (!w->tile.sparse || select_registers(s, operand_at(s, 3), &word, false, &r))) {
        Ref descriptor = w->a_shared ? select_source(s, a, PTX_b64) : REF_ABSENT;
        Ref other = select_source(s, operand_at(s, 2), PTX_b64);
        r.refs[r.count++] = scale_of(s, operand_at(s, scale));
        LowerInsn *insn = select_collective(s, OP_wgmma, &r, w->d.registers);
        insn->a = descriptor;
        insn->b = other;
        insn->pointer = w;
    }
    select_guarded_end(s, guarded);
}

void select_wgmma(Select *s)
{
    const PtxForm *form = s->insn->form;
    const PtxOperand *groups = operand_at(s, 0);
    if (ptx_has(form, PTX_MOD_mma_async))
        select_product(s);
    else if (ptx_has(form, PTX_MOD_wait_group) && (int64_t)groups->bits < 0)
        select_error(s, groups->column, "the number of groups must not be negative");
}
