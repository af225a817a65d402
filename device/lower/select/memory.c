/* Loads, stores and atomics: the operation follows from space, memory type and register width. */
#include "lower/select/select.h"

enum { MAX_ELEMENTS = 8 }; /* of a vector */

/* How an element is accessed: its type in memory, then the bits of the register that a load extends it to. */
typedef enum ElementAccess {
    ACCESS_NONE,
    U8_16,
    U8_32,
    U8_64,
    S8_16,
    S8_32,
    S8_64,
    B16_16,
    U16_32,
    U16_64,
    S16_32,
    S16_64,
    B32_32,
    U32_64,
    S32_64,
    B64_64,
    B128_128,
    ELEMENT_ACCESSES
} ElementAccess;

#define LOADS(p) \
    {[U8_16] = OP_##p##_u8_16,   [U8_32] = OP_##p##_u8_32,   [U8_64] = OP_##p##_u8_64, \
     [S8_16] = OP_##p##_s8_16,   [S8_32] = OP_##p##_s8_32,   [S8_64] = OP_##p##_s8_64, \
     [B16_16] = OP_##p##_b16_16, [U16_32] = OP_##p##_u16_32, [U16_64] = OP_##p##_u16_64, \
     [S16_32] = OP_##p##_s16_32, [S16_64] = OP_##p##_s16_64, [B32_32] = OP_##p##_b32_32, \
     [U32_64] = OP_##p##_u32_64, [S32_64] = OP_##p##_s32_64, [B64_64] = OP_##p##_b64_64, \
     [B128_128] = OP_##p##_b128}
#define STORES(p) \
    {[U8_16] = OP_##p##_b8_16,   [U8_32] = OP_##p##_b8_32,   [U8_64] = OP_##p##_b8_64, \
     [B16_16] = OP_##p##_b16_16, [U16_32] = OP_##p##_b16_32, [U16_64] = OP_##p##_b16_64, \
     [B32_32] = OP_##p##_b32_32, [U32_64] = OP_##p##_b32_64, [B64_64] = OP_##p##_b64_64, \
     [B128_128] = OP_##p##_b128}

/* Operations by space, of one element or of vectors, and by access. */
typedef enum SpaceIndex { IN_GENERIC, IN_SHARED, IN_LOCAL, IN_PARAM, SPACES } SpaceIndex;
static const uint16_t load_ops[SPACES][2][ELEMENT_ACCESSES] = {
    [IN_GENERIC] = {LOADS(ld_generic), LOADS(ldv_generic)},
    [IN_SHARED] = {LOADS(ld_shared), LOADS(ldv_shared)},
    [IN_LOCAL] = {LOADS(ld_local), LOADS(ldv_local)},
    [IN_PARAM] = {LOADS(ld_param), LOADS(ldv_param)}};
static const uint16_t store_ops[SPACES][2][ELEMENT_ACCESSES] = {
    [IN_GENERIC] = {STORES(st_generic), STORES(stv_generic)},
    [IN_SHARED] = {STORES(st_shared), STORES(stv_shared)},
    [IN_LOCAL] = {STORES(st_local), STORES(stv_local)}};

static SpaceIndex space_index(PtxSpace space)
{
    switch (space) {
    case PTX_SPACE_SHARED: return IN_SHARED;
    case PTX_SPACE_LOCAL: return IN_LOCAL;
    case PTX_SPACE_PARAM: return IN_PARAM;
    default: return IN_GENERIC;
    }
}

/* The access for a type in memory, taken as unsigned, and a register; ACCESS_NONE if there is none. */
static ElementAccess element_access(PtxType type, RegisterClass class)
{
    enum { CLASSES = CLASS_128 + 1 };
    static const uint8_t of_8[CLASSES] = {[CLASS_16] = U8_16, [CLASS_32] = U8_32, [CLASS_64] = U8_64};
    static const uint8_t of_16[CLASSES] = {[CLASS_16] = B16_16, [CLASS_32] = U16_32, [CLASS_64] = U16_64};
    static const uint8_t of_32[CLASSES] = {[CLASS_32] = B32_32, [CLASS_64] = U32_64};
    static const uint8_t of_64[CLASSES] = {[CLASS_64] = B64_64};
    static const uint8_t of_128[CLASSES] = {[CLASS_128] = B128_128};
    switch (ptx_type_bits(type)) {
    case 8: return of_8[class];
    case 16: return of_16[class];
    case 32: return of_32[class];
    case 64: return of_64[class];
    case 128: return of_128[class];
    default: return ACCESS_NONE;
    }
}

/* The access that extends by the sign; the same one if it does not extend. */
static ElementAccess signed_access(ElementAccess access)
{
    switch (access) {
    case U8_16: return S8_16;
    case U8_32: return S8_32;
    case U8_64: return S8_64;
    case U16_32: return S16_32;
    case U16_64: return S16_64;
    case U32_64: return S32_64;
    default: return access;
    }
}

uint16_t select_load_op(PtxSpace space, bool vector, PtxType type, RegisterClass class)
{
    ElementAccess access = element_access(type, class);
    if (is_signed(type)) access = signed_access(access);
    return access ? load_ops[space_index(space)][vector][access] : OP_COUNT;
}

uint16_t select_store_op(PtxSpace space, bool vector, PtxType type, RegisterClass class)
{
    ElementAccess access = element_access(type, class);
    return access && space != PTX_SPACE_PARAM ? store_ops[space_index(space)][vector][access] : OP_COUNT;
}

static uint16_t address_mods(const Address *a) { return a->narrow ? MEM_ADDR32 : 0; }

/* Whether the access may be seen by other threads at once: MEM_STRONG. */
static bool is_strong(const PtxForm *form)
{
    PtxModifier m = form->group[PTX_GROUP_SEMANTICS];
    return m != PTX_MOD_NONE && m != PTX_MOD_weak;
}

/* Appends a fence if it is wanted: before a release, after an acquire; `sequential`: of .sc. */
static void fence_if(Select *s, bool wanted, bool sequential)
{
    if (wanted) select_emit(s, sequential ? OP_fence_sc : OP_fence);
}

/* The class of the register that is an element; that of the type if it is not a register. */
static RegisterClass element_class(const Select *s, const PtxOperand *o, PtxType type)
{
    return o->kind == PTX_OPERAND_REGISTER ? select_class(s, REF_MAKE(REF_FRAME, o->reg)) : class_of(type);
}

/* Copies elements of a kernel's parameter from rows, which the launch fills. False for elements of 128 bits,
 * which are read from memory; true if all is done, or after an error. */
static bool load_param_rows(Select *s, const PtxOperand *elements, uint32_t count, PtxType type,
                            int64_t offset)
{
    unsigned bytes = ptx_type_bytes(type);
    if (bytes > 8) return false;
    if (offset < 0 || (uint64_t)offset + (uint64_t)bytes * count > s->code->param_size) {
        select_error(s, 0, "reads past the kernel's parameters");
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (elements[i].kind == PTX_OPERAND_SINK) continue;
        RegisterClass class = element_class(s, &elements[i], type);
        if (class < class_of(type)) {
            select_unsupported(s, "this width");
            return true;
        }
        Ref d = select_dest(s, &elements[i], class);
        select_copy(s, d, select_param_row(s, (uint32_t)offset + i * bytes, bytes, class, is_signed(type)));
    }
    return true;
}

/* *class: that of the registers among the elements, or of the type if there are none. False if they
 * differ. */
static bool vector_class(Select *s, const PtxOperand *elements, uint32_t count, PtxType type,
                         RegisterClass *class)
{
    *class = class_of(type);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        if (elements[i].kind != PTX_OPERAND_REGISTER) continue;
        RegisterClass own = element_class(s, &elements[i], type);
        if (found && own != *class) return false;
        *class = own;
        found = true;
    }
    return true;
}

static bool looks_for_races(const Select *s) { return s->lower->host->checks & CHECK_RACE; }

/* Whether the cache operator names a cache that all blocks share. */
static bool is_coherent(const PtxForm *form)
{
    return ptx_has(form, PTX_MOD_cg) || ptx_has(form, PTX_MOD_cv) || ptx_has(form, PTX_MOD_wt);
}

/* Sets the address of a load or store, and the bits of mods that say how strong it is. */
static void set_address(const Select *s, LowerInsn *insn, const Address *a)
{
    const PtxForm *form = s->insn->form;
    bool atomic = is_strong(form) && form->group[PTX_GROUP_SEMANTICS] != PTX_MOD_volatile;
    insn->a = a->row;
    insn->imm = a->offset;
    insn->mods |=
        (uint16_t)(address_mods(a) | (is_strong(form) ? MEM_STRONG : 0) | (atomic ? MEM_ATOMIC : 0));
    if (looks_for_races(s) && is_coherent(form)) insn->mods |= MEM_COHERENT;
}

/* Appends the load of elements at an address. */
static void load_elements(Select *s, const Address *a, const PtxOperand *elements, uint32_t count,
                          PtxType type)
{
    RegisterClass class;
    bool same = vector_class(s, elements, count, type, &class);
    uint16_t op = same ? select_load_op(a->space, count > 1, type, class) : OP_COUNT;
    if (op == OP_COUNT || count > MAX_ELEMENTS) {
        select_unsupported(s, "a load of this width");
        return;
    }
    Ref refs[MAX_ELEMENTS];
    for (uint32_t i = 0; i < count; i++) refs[i] = select_optional_dest(s, &elements[i], class);
    LowerInsn *insn = select_emit(s, op);
    set_address(s, insn, a);
    if (count == 1) {
        insn->d = refs[0] == REF_ABSENT ? lower_new_register(s->f, class) : refs[0];
        return;
    }
    insn->more = lower_new_refs(s->f, refs, count);
    insn->more_count = insn->more_written = (uint8_t)count;
    insn->mods |= (uint16_t)count;
}

void select_ld(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxType type = form->types[0];
    uint32_t count;
    const PtxOperand *elements = elements_of(operand_at(s, 0), &count);
    Address a;
    if (!select_address(s, operand_at(s, 1), form->spaces[0], &a)) return;
    if (a.space == PTX_SPACE_PARAM && load_param_rows(s, elements, count, type, a.offset)) return;
    fence_if(s, form->group[PTX_GROUP_SEMANTICS] == PTX_MOD_sc, true);
    load_elements(s, &a, elements, count, type);
    fence_if(s, form->group[PTX_GROUP_SEMANTICS] == PTX_MOD_acquire, false);
}

/* Appends the store of elements at an address. Immediates take the class of the registers. */
static void store_elements(Select *s, const Address *a, const PtxOperand *elements, uint32_t count,
                           PtxType type)
{
    RegisterClass class;
    bool same = vector_class(s, elements, count, type, &class);
    uint16_t op = same ? select_store_op(a->space, count > 1, type, class) : OP_COUNT;
    if (op == OP_COUNT || count > MAX_ELEMENTS) {
        select_unsupported(s, "a store of this width");
        return;
    }
    Ref refs[MAX_ELEMENTS];
    for (uint32_t i = 0; i < count; i++)
        refs[i] = elements[i].kind == PTX_OPERAND_REGISTER ? REF_MAKE(REF_FRAME, elements[i].reg)
                                                           : select_source(s, &elements[i], type);
    /* An immediate gets the width of the registers in the vector. */
    for (uint32_t i = 0; i < count; i++)
        if (elements[i].kind != PTX_OPERAND_REGISTER && class != class_of(type))
            refs[i] = lower_constant(s->lower, class, ptx_immediate_bits(&elements[i], type), 0);
    LowerInsn *insn = select_emit(s, op);
    set_address(s, insn, a);
    if (count == 1) {
        insn->b = refs[0];
        return;
    }
    insn->more = lower_new_refs(s->f, refs, count);
    insn->more_count = (uint8_t)count;
    insn->mods |= (uint16_t)count;
}

void select_st(Select *s)
{
    const PtxForm *form = s->insn->form;
    bool async = ptx_has(form, PTX_MOD_async);
    if (ptx_has(form, PTX_MOD_bulk) || (async && s->insn->operand_count < 3)) {
        select_unsupported(s, "");
        return;
    }
    uint32_t count;
    const PtxOperand *elements = elements_of(operand_at(s, 1), &count);
    Address a;
    if (!select_address(s, operand_at(s, 0), form->spaces[0], &a)) return;
    PtxModifier order = form->group[PTX_GROUP_SEMANTICS];
    fence_if(s, order == PTX_MOD_release || order == PTX_MOD_sc, order == PTX_MOD_sc);
    store_elements(s, &a, elements, count, form->types[0]);
    if (async) select_complete_tx(s, count * ptx_type_bytes(form->types[0]));
}

/* ---- atomics ---- */

/* The operation of BY(what, type, name) has `name` for the type. Bitwise ones and sums of integers depend on
 * the size only, others on the type. */
#define BY(what, type, name) [PTX_##type] = OP_atom_##what##_##name
#define BITS(what) BY(what, b32, b32), BY(what, b64, b64)
#define HALVES(what) \
    BY(what, f16, f16), BY(what, f16x2, f16x2), BY(what, bf16, bf16), BY(what, bf16x2, bf16x2)
#define ORDER(what) \
    BY(what, s32, s32), BY(what, u32, u32), BY(what, s64, s64), BY(what, u64, u64), HALVES(what)
static const struct {
    uint16_t what;
    uint16_t ops[PTX_TYPE_COUNT];
} atomics[] = {
    {PTX_MOD_and, {BITS(and)}},
    {PTX_MOD_or, {BITS(or)}},
    {PTX_MOD_xor, {BITS(xor)}},
    {PTX_MOD_exch, {BITS(exch), BY(exch, b128, b128)}},
    {PTX_MOD_cas, {BY(cas, b16, b16), BITS(cas), BY(cas, b128, b128)}},
    {PTX_MOD_add,
     {BY(add, u32, u32), BY(add, s32, u32), BY(add, u64, u64), BY(add, s64, u64), BY(add, f32, f32),
      BY(add, f64, f64), HALVES(add)}},
    {PTX_MOD_inc, {BY(inc, u32, u32)}},
    {PTX_MOD_dec, {BY(dec, u32, u32)}},
    {PTX_MOD_min, {ORDER(min)}},
    {PTX_MOD_max, {ORDER(max)}},
};

uint16_t select_atomic_op(PtxModifier what, PtxType type)
{
    for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++)
        if (atomics[i].what == what) return op_or_none(atomics[i].ops[type]);
    return OP_COUNT;
}

typedef struct Atomic {
    uint16_t op;
    PtxType type;
    bool returns; /* atom, not red: operand 0 is the result */
    bool swaps; /* cas, with a second value */
    Address address;
} Atomic;

/* Whether writes before the atomic operation are seen with it. */
static bool is_release(const PtxForm *form)
{
    PtxModifier m = form->group[PTX_GROUP_SEMANTICS];
    return m == PTX_MOD_release || m == PTX_MOD_acq_rel || m == PTX_MOD_sc;
}

/* Appends the operation on one element, `offset` bytes from the address; a vector is not atomic as a whole.
 * d: the operand of the result, if there is one; b: that of the value. */
static void emit_atomic(Select *s, const Atomic *atomic, const PtxOperand *d, const PtxOperand *b,
                        int64_t offset)
{
    Ref result = atomic->returns ? select_optional_dest(s, d, class_of(atomic->type)) : REF_ABSENT;
    Ref value = select_source(s, b, atomic->type);
    Ref swap =
        atomic->swaps ? select_source(s, operand_at(s, atomic->returns + 2u), atomic->type) : REF_ABSENT;
    LowerInsn *insn = select_emit(s, atomic->op);
    insn->a = atomic->address.row;
    insn->imm = atomic->address.offset + offset;
    insn->mods = (uint16_t)(address_mods(&atomic->address)
                            | (atomic->address.space == PTX_SPACE_SHARED ? MEM_SHARED : 0));
    if (looks_for_races(s) && is_release(s->insn->form)) insn->mods |= MEM_RELEASE;
    insn->d = result;
    insn->b = value;
    insn->c = swap;
}

void select_atom(Select *s)
{
    const PtxForm *form = s->insn->form;
    PtxModifier what = form->group[PTX_GROUP_OPERATION];
    Atomic x = {.type = form->types[0], .returns = form->opcode == PTX_OP_atom, .swaps = what == PTX_MOD_cas};
    x.op = select_atomic_op(what, x.type);
    bool async = ptx_has(form, PTX_MOD_async);
    if (x.op == OP_COUNT || (async && s->insn->operand_count < 3)) {
        select_unsupported(s, "");
        return;
    }
    if (!select_address(s, operand_at(s, x.returns), form->spaces[0], &x.address)) return;
    if (x.address.space == PTX_SPACE_LOCAL || x.address.space == PTX_SPACE_PARAM) {
        select_unsupported(s, "an atomic on this space");
        return;
    }
    uint32_t count, results;
    const PtxOperand *values = elements_of(operand_at(s, x.returns + 1u), &count);
    const PtxOperand *to = elements_of(operand_at(s, 0), &results);
    for (uint32_t i = 0; i < count; i++)
        emit_atomic(s, &x, i < results ? &to[i] : to, &values[i], (int64_t)i * ptx_type_bytes(x.type));
    if (async) select_complete_tx(s, ptx_type_bytes(x.type));
}
