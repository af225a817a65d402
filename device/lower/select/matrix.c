/* Matrices: which shapes and types go together, how many registers hold them, and in which order. A guard
 * becomes a branch around the instruction, as for other collectives. */
#include <stdio.h>
#include <string.h>

#include "lower/select/matrix.h"

enum {
    WMMA_HALF_REGISTERS = 8, /* of a or b, whatever its shape */
    QUADS_WORDS = 5 /* modifiers of an mma.m8n8k4 of halves: .sync .aligned .m8n8k4 and two layouts */
};

/* Sets of types, a bit for each MatrixType. */
#define KIND(type) (1u << MATRIX_##type)
#define INT_8 (KIND(S8) | KIND(U8))
#define INT_4 (KIND(S4) | KIND(U4))
#define NARROW (KIND(E4M3) | KIND(E5M2))

/* The types that a and b can have in a shape. */
typedef struct ShapeKinds {
    PtxModifier shape;
    uint32_t kinds;
} ShapeKinds;
static const ShapeKinds mma_shapes[] = {
    {PTX_MOD_m8n8k4, KIND(F64)},
    {PTX_MOD_m16n8k4, KIND(TF32) | KIND(F64)},
    {PTX_MOD_m16n8k8, KIND(F16) | KIND(BF16) | KIND(TF32) | KIND(F64)},
    {PTX_MOD_m16n8k16, KIND(F16) | KIND(BF16) | KIND(F64) | NARROW | INT_8},
    {PTX_MOD_m16n8k32, NARROW | INT_8 | INT_4},
    {PTX_MOD_m16n8k64, INT_4},
    {PTX_MOD_m16n8k128, KIND(B1)},
    {PTX_MOD_m16n8k256, KIND(B1)},
    {PTX_MOD_m8n8k16, INT_8},
    {PTX_MOD_m8n8k32, INT_4},
    {PTX_MOD_m8n8k128, KIND(B1)},
};
static const ShapeKinds sparse_shapes[] = {
    {PTX_MOD_m16n8k8, KIND(TF32)},
    {PTX_MOD_m16n8k16, KIND(F16) | KIND(BF16) | KIND(TF32)},
    {PTX_MOD_m16n8k32, KIND(F16) | KIND(BF16) | INT_8},
    {PTX_MOD_m16n8k64, NARROW | INT_8 | INT_4},
    {PTX_MOD_m16n8k128, INT_4},
};
static const ShapeKinds wmma_shapes[] = {
    {PTX_MOD_m16n16k16, KIND(F16) | KIND(BF16) | INT_8},
    {PTX_MOD_m8n32k16, KIND(F16) | KIND(BF16) | INT_8},
    {PTX_MOD_m32n8k16, KIND(F16) | KIND(BF16) | INT_8},
    {PTX_MOD_m16n16k8, KIND(TF32)},
    {PTX_MOD_m8n8k4, KIND(F64)},
    {PTX_MOD_m8n8k32, INT_4},
    {PTX_MOD_m8n8k128, KIND(B1)},
};
enum {
    MMA_SHAPES = sizeof mma_shapes / sizeof *mma_shapes,
    SPARSE_SHAPES = sizeof sparse_shapes / sizeof *sparse_shapes,
    WMMA_SHAPES = sizeof wmma_shapes / sizeof *wmma_shapes
};

/* The types of a shape; none if it is not in the table. */
static uint32_t kinds_of(const ShapeKinds *shapes, unsigned count, PtxModifier shape)
{
    for (unsigned k = 0; k < count; k++)
        if (shapes[k].shape == shape) return shapes[k].kinds;
    return 0;
}

MatrixType matrix_type(PtxType type)
{
    switch (type) {
    case PTX_f16: return MATRIX_F16;
    case PTX_bf16: return MATRIX_BF16;
    case PTX_tf32: return MATRIX_TF32;
    case PTX_e4m3: return MATRIX_E4M3;
    case PTX_e5m2: return MATRIX_E5M2;
    case PTX_f32: return MATRIX_F32;
    case PTX_f64: return MATRIX_F64;
    case PTX_s8: return MATRIX_S8;
    case PTX_u8: return MATRIX_U8;
    case PTX_s4: return MATRIX_S4;
    case PTX_u4: return MATRIX_U4;
    case PTX_b1: return MATRIX_B1;
    case PTX_s32: return MATRIX_S32;
    default: return MATRIX_TYPES;
    }
}

/* The types that c and d can have if a and b have those types. */
static uint32_t sums_of(uint32_t kinds)
{
    uint32_t sums = 0;
    if (kinds & (KIND(F16) | NARROW)) sums |= KIND(F16) | KIND(F32);
    if (kinds & (KIND(BF16) | KIND(TF32))) sums |= KIND(F32);
    if (kinds & KIND(F64)) sums |= KIND(F64);
    if (kinds & (INT_8 | INT_4 | KIND(B1))) sums |= KIND(S32);
    return sums;
}

typedef struct MatrixShape {
    unsigned m, n, k;
} MatrixShape;

/* d = a b + c, with a of m x k and b of k x n elements. */
static MatrixShape product_shape(const PtxForm *form)
{
    MatrixShape s = {0};
    sscanf(ptx_modifiers[form->group[PTX_GROUP_SHAPE]].spelling, "m%un%uk%u", &s.m, &s.n, &s.k);
    return s;
}

/* The part of a matrix that each lane has, in a product of that shape. */
static Fragment fragment_of(MatrixRole role, MatrixType type, MatrixShape s, bool wmma)
{
    Fragment f = {.role = (uint8_t)role,
                  .type = (uint8_t)type,
                  .rows = (uint16_t)(role == MATRIX_B ? s.k : s.m),
                  .columns = (uint16_t)(role == MATRIX_A ? s.k : s.n)};
    f.registers = (uint8_t)fragment_needed(&f);
    if (wmma && type == MATRIX_F16 && role != MATRIX_C) f.registers = WMMA_HALF_REGISTERS;
    return f;
}

/* Whether layout number n (0: of a) of the form is .col. */
static bool is_column(const PtxForm *form, unsigned n)
{
    for (int k = 0; k < form->modifier_count; k++) {
        bool column = form->modifiers[k] == PTX_MOD_col;
        if ((column || form->modifiers[k] == PTX_MOD_row) && n-- == 0) return column;
    }
    return false;
}

/* --- registers ----------------------------------------------------------------------------------------- */

bool select_registers(Select *s, const PtxOperand *o, const Fragment *f, bool written, Registers *out)
{
    bool wide = f->type == MATRIX_F64;
    uint32_t count;
    const PtxOperand *items = elements_of(o, &count);
    if (count != f->registers) {
        select_error(s, o->column, "%u registers are expected here, found %u", f->registers, count);
        return false;
    }
    for (uint32_t k = 0; k < count; k++) {
        const PtxOperand *item = &items[k];
        unsigned bits = ptx_type_bits((PtxType)item->type);
        if (item->kind == PTX_OPERAND_REGISTER && bits != (wide ? 64 : 32)) {
            select_error(s, item->column, "registers of %d bits are expected here", wide ? 64 : 32);
            return false;
        }
        RegisterClass class = wide ? CLASS_64 : CLASS_32;
        PtxType type = f->type == MATRIX_F64 ? PTX_f64 : f->type == MATRIX_F32 ? PTX_f32 : PTX_b32;
        out->refs[out->count++] =
            written ? select_optional_dest(s, item, class) : select_source(s, item, type);
    }
    return !s->failed;
}

LowerInsn *select_collective(Select *s, uint16_t op, const Registers *registers, unsigned written)
{
    uint32_t more = lower_new_refs(s->f, registers->refs, registers->count);
    Ref everyone = lower_constant(s->lower, CLASS_32, UINT32_MAX, 0);
    LowerInsn *insn = select_emit(s, op);
    insn->c = everyone;
    insn->more = more;
    insn->more_count = registers->count;
    insn->more_written = (uint16_t)written;
    return insn;
}

/* --- products ------------------------------------------------------------------------------------------ */

typedef struct ProductTypes {
    MatrixType d, a, b, c;
    uint32_t factors; /* those of a and b as a set */
} ProductTypes;

/* The types that a product names. wmma.mma of halves names those of d and c only. */
static ProductTypes product_types(const PtxForm *form, bool wmma)
{
    bool halves = wmma && form->type_count == 2;
    ProductTypes t = {.d = matrix_type(form->types[0]), .a = MATRIX_F16, .b = MATRIX_F16};
    if (!halves) {
        t.a = matrix_type(form->types[1]);
        t.b = matrix_type(form->types[2]);
    }
    t.c = matrix_type(form->types[halves ? 1 : 3]);
    t.factors = 1u << t.a | 1u << t.b;
    return t;
}

/* Whether there is a product of these types, if a and b can have those of `kinds`. In mma a and b may differ
 * in their sign, or in their format of 8 bits, and c has the type of d. */
static bool types_fit(const PtxForm *form, const ProductTypes *t, uint32_t kinds, bool wmma)
{
    bool halves = wmma && form->type_count == 2;
    bool related = !(t->factors & ~INT_8) || !(t->factors & ~INT_4) || !(t->factors & ~NARROW);
    uint32_t sums = sums_of(t->factors);
    if (!halves && form->type_count != 4) return false;
    if (t->factors & ~kinds) return false;
    if (t->a != t->b && (wmma || !related)) return false;
    if (!(sums >> t->d & 1) || !(sums >> t->c & 1)) return false;
    return wmma || t->c == t->d;
}

/* Whether a product of these types can have the modifiers of the form: an operation on bits and .popc go with
 * bits and nothing else, .satfinite with integers (and wmma of halves), a rounding with doubles. */
static bool modifiers_fit(const PtxForm *form, const ProductTypes *t, bool wmma)
{
    bool binary = t->a == MATRIX_B1;
    bool combines = ptx_has(form, PTX_MOD_xor) || ptx_has(form, PTX_MOD_and);
    bool may_saturate = (t->factors & (INT_8 | INT_4)) || (wmma && t->a == MATRIX_F16);
    if (binary != combines || binary != ptx_has(form, PTX_MOD_popc)) return false;
    if (ptx_has(form, PTX_MOD_satfinite) && !may_saturate) return false;
    return !form->group[PTX_GROUP_ROUND] || t->a == MATRIX_F64;
}

/* Fills in what the mnemonic says of a product; `kinds`: the types that its shape has. False after an
 * error. */
static bool read_product(Select *s, uint32_t kinds, bool wmma, MatrixProduct *p)
{
    const PtxForm *form = s->insn->form;
    ProductTypes t = product_types(form, wmma);
    if (!types_fit(form, &t, kinds, wmma)) {
        select_unsupported(s, "a product of this shape and these types");
        return false;
    }
    if ((t.factors & (INT_4 | KIND(B1))) && (is_column(form, 0) || !is_column(form, 1))) {
        select_unsupported(s, "a layout other than .row.col");
        return false;
    }
    if (!modifiers_fit(form, &t, wmma)) {
        select_unsupported(s, "a product of this type with these modifiers");
        return false;
    }
    MatrixShape shape = product_shape(form);
    p->d = fragment_of(MATRIX_C, t.d, shape, wmma);
    p->a = fragment_of(MATRIX_A, t.a, shape, wmma);
    p->b = fragment_of(MATRIX_B, t.b, shape, wmma);
    p->c = fragment_of(MATRIX_C, t.c, shape, wmma);
    p->round = (uint8_t)rounding_mods(form);
    p->saturated = ptx_has(form, PTX_MOD_satfinite);
    p->conjunction = ptx_has(form, PTX_MOD_and);
    return true;
}

/* Appends a product, whose fragments are known. */
static void emit_product(Select *s, MatrixProduct *p)
{
    static const Fragment metadata = {.type = MATRIX_B1, .registers = 1};
    Registers r = {.count = 0};
    GuardedBlock guarded = select_guarded_begin(s);
    if (select_registers(s, operand_at(s, 0), &p->d, true, &r)
        && select_registers(s, operand_at(s, 1), &p->a, false, &r)
        && select_registers(s, operand_at(s, 2), &p->b, false, &r)
        && select_registers(s, operand_at(s, 3), &p->c, false, &r)
        && (!p->sparse || select_registers(s, operand_at(s, 4), &metadata, false, &r)))
        select_collective(s, OP_mma, &r, p->d.registers)->pointer = p;
    select_guarded_end(s, guarded);
}

static void select_product(Select *s, uint32_t kinds, bool wmma)
{
    MatrixProduct *p = ARENA_ZEROS(s->lower->keep, MatrixProduct, 1);
    if (read_product(s, kinds, wmma, p)) emit_product(s, p);
}

/* mma.m8n8k4 of halves, in any layout. Only the number of registers is known here;
 * exec/collective/quads.c knows what they hold. */
static void select_quads(Select *s)
{
    const PtxForm *form = s->insn->form;
    MatrixProduct *p = ARENA_ZEROS(s->lower->keep, MatrixProduct, 1);
    MatrixType d = matrix_type(form->types[0]), c = matrix_type(form->types[3]);
    bool halves =
        form->types[2] == PTX_f16 && !form->group[PTX_GROUP_ROUND] && form->modifier_count == QUADS_WORDS;
    if (!halves || (d != MATRIX_F16 && d != MATRIX_F32) || (c != MATRIX_F16 && c != d)) {
        select_unsupported(s, "a product of this shape and these types");
        return;
    }
    p->quads = true;
    p->a = p->b = (Fragment){.type = MATRIX_F16, .registers = 2};
    p->c = (Fragment){.type = (uint8_t)c, .registers = c == MATRIX_F16 ? 4 : 8};
    p->d = (Fragment){.type = (uint8_t)d, .registers = d == MATRIX_F16 ? 4 : 8};
    p->a_columns = is_column(form, 0);
    p->b_columns = is_column(form, 1);
    emit_product(s, p);
}

/* Makes a product sparse: half of a's columns are stored, and operand 5 says which lanes
 * have the metadata. False after an error. */
static bool read_sparsity(Select *s, MatrixProduct *p)
{
    const PtxOperand *selector = operand_at(s, 5);
    uint64_t value = ptx_immediate_bits(selector, PTX_u64);
    p->sparse = true;
    p->a.columns /= 2;
    p->a.registers = (uint8_t)fragment_needed(&p->a);
    if (value >= matrix_selectors(&p->a)) {
        select_error(s, selector->column,
                     "the sparsity selector of this shape and type is at most %u, found %lld",
                     matrix_selectors(&p->a) - 1, (long long)value);
        return false;
    }
    p->selector = (uint8_t)value;
    return true;
}

static void select_sparse(Select *s)
{
    uint32_t kinds = kinds_of(sparse_shapes, SPARSE_SHAPES, s->insn->form->group[PTX_GROUP_SHAPE]);
    MatrixProduct *p = ARENA_ZEROS(s->lower->keep, MatrixProduct, 1);
    if (read_product(s, kinds, false, p) && read_sparsity(s, p)) emit_product(s, p);
}

void select_mma(Select *s)
{
    const PtxForm *form = s->insn->form;
    uint32_t kinds = kinds_of(mma_shapes, MMA_SHAPES, form->group[PTX_GROUP_SHAPE]);
    if (s->insn->operand_count > 6) { /* after d, a, b, c: metadata and a selector, or scales */
        select_unsupported(s, "a scaled product");
        return;
    }
    if (ptx_has(form, PTX_MOD_m8n8k4) && form->types[1] == PTX_f16) {
        select_quads(s);
        return;
    }
    if (is_column(form, 0) || !is_column(form, 1)) {
        select_unsupported(s, "a layout other than .row.col");
        return;
    }
    if (s->insn->operand_count > 4) {
        select_sparse(s);
        return;
    }
    select_product(s, kinds, false);
}

/* --- wmma.load and wmma.store -------------------------------------------------------------------------- */

/* Finds the fragment of wmma.load or wmma.store by its matrix (.a .b .c
 * .d), shape and type. False after an error. */
static bool read_wmma_access(Select *s, uint32_t kinds, MatrixAccess *access)
{
    const PtxForm *form = s->insn->form;
    MatrixType type = matrix_type(form->types[0]);
    MatrixRole role = ptx_has(form, PTX_MOD_a) ? MATRIX_A : ptx_has(form, PTX_MOD_b) ? MATRIX_B : MATRIX_C;
    uint32_t possible = role == MATRIX_C ? sums_of(kinds) : kinds;
    bool narrow = type == MATRIX_S4 || type == MATRIX_U4 || type == MATRIX_B1;
    access->columns = is_column(form, 0);
    if (!(possible >> type & 1) || (narrow && access->columns != (role == MATRIX_B))) {
        select_unsupported(s, "a matrix of this shape, layout and type");
        return false;
    }
    access->fragment = fragment_of(role, type, product_shape(form), true);
    return true;
}

static void select_wmma_access(Select *s, uint32_t kinds)
{
    const PtxForm *form = s->insn->form;
    bool store = ptx_has(form, PTX_MOD_store), wide;
    MatrixAccess *access = ARENA_ZEROS(s->lower->keep, MatrixAccess, 1);
    Registers r = {.count = 0};
    Address a;
    if (!read_wmma_access(s, kinds, access)) return;
    GuardedBlock guarded = select_guarded_begin(s);
    if (select_registers(s, operand_at(s, store), &access->fragment, !store, &r)
        && select_address(s, operand_at(s, !store), form->spaces[0], &a)) {
        Ref address = select_address_value(s, &a, &wide);
        Ref stride = s->insn->operand_count > 2 ? select_source(s, operand_at(s, 2), PTX_u32) : REF_ABSENT;
        LowerInsn *insn = select_collective(s, store ? OP_wmma_store : OP_wmma_load, &r, store ? 0 : r.count);
        insn->a = address;
        insn->b = stride;
        insn->mods = (uint16_t)((wide ? 0 : MEM_ADDR32) | (a.space == PTX_SPACE_SHARED ? MEM_SHARED : 0));
        insn->pointer = access;
    }
    select_guarded_end(s, guarded);
}

void select_wmma(Select *s)
{
    uint32_t kinds = kinds_of(wmma_shapes, WMMA_SHAPES, s->insn->form->group[PTX_GROUP_SHAPE]);
    if (ptx_has(s->insn->form, PTX_MOD_mma))
        select_product(s, kinds, true);
    else
        select_wmma_access(s, kinds);
}

/* --- tiles --------------------------------------------------------------------------------------------- */

/* ldmatrix and stmatrix, of 8 x 8 elements of 16 bits */
void select_tiles(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool store = form->opcode == PTX_OP_stmatrix;
    unsigned count = ptx_has(form, PTX_MOD_x4) ? 4 : ptx_has(form, PTX_MOD_x2) ? 2 : 1;
    Fragment words = {.type = MATRIX_B1, .registers = (uint8_t)count};
    Registers r = {.count = 0};
    Address a;
    if (!ptx_has(form, PTX_MOD_m8n8)) {
        select_unsupported(s, "this shape");
        return;
    }
    GuardedBlock guarded = select_guarded_begin(s);
    if (select_registers(s, operand_at(s, store), &words, !store, &r)
        && select_address(s, operand_at(s, !store), form->spaces[0], &a)) {
        LowerInsn *insn = select_collective(s, store ? OP_stmatrix : OP_ldmatrix, &r, store ? 0 : count);
        insn->a = a.row;
        insn->imm = a.offset;
        insn->mods =
            (uint16_t)(count | (ptx_has(form, PTX_MOD_trans) ? MATRIX_TRANSPOSED : 0)
                       | (a.narrow ? MEM_ADDR32 : 0) | (a.space == PTX_SPACE_SHARED ? MEM_SHARED : 0));
    }
    select_guarded_end(s, guarded);
}

void select_movmatrix(Select *s)
{
    Registers none = {.count = 0};
    GuardedBlock guarded = select_guarded_begin(s);
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32), a = select_source(s, operand_at(s, 1), PTX_b32);
    LowerInsn *insn = select_collective(s, OP_movmatrix, &none, 0);
    insn->d = d;
    insn->a = a;
    select_guarded_end(s, guarded);
}
