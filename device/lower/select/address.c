/* Addresses: state spaces of PTX as those that exec/ has, variables as offsets, parameters as rows.
 *
 * Global, const and generic addresses are the host's. A shared address is an offset in the block's memory, a
 * local one an offset in the lane's. A kernel's parameters are in the launch's buffer; those of other
 * functions in local memory, at the start of the frame of the function called: results first, then arguments.
 */
#include "exec/code/affine.h"
#include "lower/select/select.h"

enum { ARGUMENT_ALIGN = 16, LOCAL_LIMIT = 1 << 29 };

static bool is_param_space(PtxSpace space)
{
    return space == PTX_SPACE_PARAM || space == PTX_SPACE_PARAM_ENTRY || space == PTX_SPACE_PARAM_FUNC;
}

uint32_t select_call_layout(PtxVariable **returns, uint32_t return_count, PtxVariable **params,
                            uint32_t param_count, LocalPlace *return_places, LocalPlace *param_places)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < return_count; i++) {
        return_places[i] = (LocalPlace){PLACE_OUTGOING, (uint32_t)offset};
        offset = align_up(offset + returns[i]->size, ARGUMENT_ALIGN);
    }
    for (uint32_t i = 0; i < param_count; i++) {
        param_places[i] = (LocalPlace){PLACE_OUTGOING, (uint32_t)offset};
        offset = align_up(offset + params[i]->size, ARGUMENT_ALIGN);
    }
    return (uint32_t)offset;
}

/* What a program can ask of a kernel's parameter. */
static CodeParam param_of(const PtxVariable *p, uint32_t offset, uint32_t align)
{
    unsigned class = ptx_types[p->type].class;
    bool scalar = !p->dim_count && p->vector <= 1 && !p->is_pointer;
    return (CodeParam){.offset = offset,
                       .size = (uint32_t)p->size,
                       .align = align,
                       .is_integer = scalar && (class == PTX_UNSIGNED || class == PTX_SIGNED),
                       .is_float = scalar && class == PTX_FLOAT,
                       .is_structure = p->dim_count > 0};
}

/* Lays out a kernel's parameters in their buffer. */
static void kernel_params(Select *s)
{
    const PtxFunction *tree = s->tree;
    CodeFunction *code = s->code;
    uint64_t offset = 0;
    s->param_offsets = ARENA_ARRAY(s->f->scratch, uint32_t, tree->param_count);
    code->params = ARENA_ARRAY(s->lower->keep, CodeParam, tree->param_count);
    code->param_count = tree->param_count;
    for (uint32_t i = 0; i < tree->param_count; i++) {
        const PtxVariable *p = tree->params[i];
        uint32_t align = p->align ? p->align : 1;
        offset = align_up(offset, align);
        s->param_offsets[i] = (uint32_t)offset;
        code->params[i] = param_of(p, (uint32_t)offset, align);
        offset += p->size;
    }
    code->param_size = (uint32_t)offset;
}

void select_frame(Select *s)
{
    const PtxFunction *tree = s->tree;
    Arena *arena = s->f->scratch;
    if (tree->is_entry) {
        kernel_params(s);
        s->local_size = s->lower->local_size;
    } else {
        s->returns = ARENA_ARRAY(arena, LocalPlace, tree->return_count);
        s->params = ARENA_ARRAY(arena, LocalPlace, tree->param_count);
        s->local_size = select_call_layout(tree->returns, tree->return_count, tree->params, tree->param_count,
                                           s->returns, s->params);
    }
    s->places = ARENA_ZEROS(arena, LocalPlace, tree->variable_count);
    select_call_places(s);
    uint64_t size = s->local_size;
    for (uint32_t i = 0; i < tree->variable_count; i++) {
        const PtxVariable *v = tree->variables[i];
        bool local = v->space == PTX_SPACE_LOCAL || is_param_space(v->space);
        if (!local || s->places[i].kind == PLACE_OUTGOING) continue;
        uint64_t align = is_param_space(v->space) || !v->align ? ARGUMENT_ALIGN : v->align;
        s->places[i] = (LocalPlace){PLACE_FRAME, (uint32_t)align_up(size, align)};
        size = align_up(size, align) + v->size;
    }
    if (size > LOCAL_LIMIT)
        ptx_report(s->tree->home, s->lower->log, PTX_INVALID, tree->line, tree->column,
                   "'%s' asks for %llu bytes of local memory a thread", tree->name, (unsigned long long)size);
    s->local_size = (uint32_t)align_up(size, ARGUMENT_ALIGN);
}

/* Whether a variable is in the list, at *index. */
static bool find_param(PtxVariable **list, uint32_t count, const PtxVariable *v, uint32_t *index)
{
    for (uint32_t i = 0; i < count; i++) {
        *index = i;
        if (list[i] == v) return true;
    }
    return false;
}

/* The offset of a variable in local memory, or of a function's parameter, in the function's frame. */
static uint32_t local_offset(Select *s, const PtxVariable *v)
{
    uint32_t i;
    if (find_param(s->tree->returns, s->tree->return_count, v, &i)) return s->returns[i].offset;
    if (find_param(s->tree->params, s->tree->param_count, v, &i)) return s->params[i].offset;
    const LocalPlace *place = &s->places[v->id];
    return place->offset + (place->kind == PLACE_OUTGOING ? s->local_size : 0);
}

/* Whether a variable is a parameter of this kernel, at *offset of the buffer. */
static bool is_kernel_param(const Select *s, const PtxVariable *v, uint32_t *offset)
{
    uint32_t i;
    if (!s->tree->is_entry || !find_param(s->tree->params, s->tree->param_count, v, &i)) return false;
    *offset = s->param_offsets[i];
    return true;
}

/* The offset of a .shared variable; of an extern array, that where such arrays start. */
static uint64_t shared_offset(const Select *s, const PtxVariable *v)
{
    if (!lower_owns(s->lower, v)) return s->facts->dynamic_shared;
    return v->function ? s->facts->shared_offset[v->id] : s->lower->addresses[v->id];
}

/* The address of a variable in memory. If nothing defines it, that is an error at this use. */
static uint64_t memory_address(Select *s, const PtxVariable *v, uint32_t column)
{
    uint64_t address = v->function ? NO_ADDRESS : s->lower->addresses[v->id];
    if (address != NO_ADDRESS) return address;
    select_error(s, column, "unresolved variable '%s': it is .extern and nothing defines it", v->name);
    return 0;
}

/* A .local variable of module scope has a fixed place in each thread's local memory: at the start of the
 * kernel's frame, which is the first frame of the stack. A kernel addresses it relative to its own frame;
 * other functions, whose frames follow, use its offset in local memory, as a constant. */
static void address_of_thread_local(Select *s, const PtxVariable *v, uint32_t column, Address *a)
{
    a->space = PTX_SPACE_LOCAL;
    a->offset += (int64_t)memory_address(s, v, column);
    a->relative = s->tree->is_entry;
    if (a->relative) return;
    a->row = lower_constant(s->lower, CLASS_64, (uint64_t)a->offset, 0);
    a->offset = 0;
}

/* Sets the space of an address to that of a variable, and adds the variable's offset. */
static void address_of_variable(Select *s, const PtxVariable *v, uint32_t column, Address *a)
{
    uint32_t param;
    switch (v->space) {
    case PTX_SPACE_SHARED:
        a->space = PTX_SPACE_SHARED;
        a->offset += (int64_t)shared_offset(s, v);
        break;
    case PTX_SPACE_LOCAL:
        if (!v->function) {
            address_of_thread_local(s, v, column, a);
            break;
        }
        /* fall through */
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_ENTRY:
    case PTX_SPACE_PARAM_FUNC:
        if (is_kernel_param(s, v, &param)) {
            a->space = PTX_SPACE_PARAM;
            a->offset += param;
        } else {
            a->space = PTX_SPACE_LOCAL;
            a->relative = true;
            a->offset += local_offset(s, v);
        }
        break;
    default: a->space = PTX_SPACE_GLOBAL; a->offset += (int64_t)memory_address(s, v, column);
    }
}

PtxSpace select_space(const Select *s, PtxSpace space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
    case PTX_SPACE_SHARED_CLUSTER: return PTX_SPACE_SHARED;
    case PTX_SPACE_LOCAL: return PTX_SPACE_LOCAL;
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_ENTRY:
    case PTX_SPACE_PARAM_FUNC:
        return s->tree->is_entry && space != PTX_SPACE_PARAM_FUNC ? PTX_SPACE_GLOBAL : PTX_SPACE_LOCAL;
    default: return PTX_SPACE_GLOBAL;
    }
}

bool select_address(Select *s, const PtxOperand *o, PtxSpace space, Address *a)
{
    *a = (Address){.row = REF_ABSENT, .offset = o->offset, .space = select_space(s, space)};
    unsigned base = o->kind == PTX_OPERAND_VARIABLE ? PTX_BASE_VARIABLE : o->base;
    if ((o->kind != PTX_OPERAND_ADDRESS && o->kind != PTX_OPERAND_VARIABLE)
        || base == PTX_BASE_PARAM_NUMBER) {
        select_error(s, o->column, "this address is not supported by the CPU device");
        return false;
    }
    if (base == PTX_BASE_VARIABLE) address_of_variable(s, o->variable, o->column, a);
    if (base != PTX_BASE_REGISTER) return !s->failed;
    a->row = REF_MAKE(REF_FRAME, o->reg);
    RegisterClass class = select_class(s, a->row);
    a->narrow = class == CLASS_32;
    /* Only instructions for shared memory take generic addresses of 32 bits. */
    if (a->narrow && space == PTX_SPACE_NONE) a->space = PTX_SPACE_SHARED;
    if (class == CLASS_32 || class == CLASS_64) return true;
    select_error(s, o->column, "an address is held in a register of 32 or 64 bits");
    return false;
}

Ref select_address_value(Select *s, const Address *a, bool *wide)
{
    *wide = a->row == REF_ABSENT ? a->space != PTX_SPACE_SHARED : !a->narrow;
    RegisterClass class = *wide ? CLASS_64 : CLASS_32;
    Ref offset = lower_constant(s->lower, class, (uint64_t)a->offset, 0);
    if (a->row == REF_ABSENT) return offset;
    if (!a->offset) return a->row;
    return select_compute(s, *wide ? OP_add_b64 : OP_add_b32, class, a->row, offset, REF_ABSENT);
}

Ref select_variable_address(Select *s, const PtxOperand *o, RegisterClass class)
{
    Address a = {.row = REF_ABSENT, .offset = o->offset};
    address_of_variable(s, o->variable, o->column, &a);
    if (a.row != REF_ABSENT) return a.row; /* of 64 bits */
    if (a.space != PTX_SPACE_LOCAL && a.space != PTX_SPACE_PARAM)
        return lower_constant(s->lower, class, (uint64_t)a.offset, 0);
    LowerInsn *insn =
        select_temp(s, a.space == PTX_SPACE_LOCAL ? OP_local_address : OP_param_address, CLASS_64);
    insn->imm = a.offset;
    return insn->d;
}

Ref select_param_row(Select *s, uint32_t offset, unsigned bytes, RegisterClass class, bool is_signed)
{
    static const uint8_t element_bytes[] = {[CLASS_16] = 2, [CLASS_32] = 4, [CLASS_64] = 8};
    CodeParamLoad load = {.offset = offset,
                          .size = (uint8_t)bytes,
                          .element = element_bytes[class],
                          .is_signed = is_signed && bytes < element_bytes[class]};
    for (uint32_t i = 0; i < s->load_count; i++) {
        const CodeParamLoad *existing = &s->loads[i];
        if (existing->offset == offset && existing->size == bytes && existing->element == load.element
            && existing->is_signed == load.is_signed)
            return REF_MAKE(REF_PARAM, existing->row);
    }
    load.affine = class != CLASS_16;
    load.row = s->code->param_rows_size + (load.affine ? AFFINE_BYTES : 0);
    s->code->param_rows_size = load.row + (uint32_t)WARP_LANES * load.element;
    s->loads = arena_grow(s->f->scratch, s->loads, s->load_count, &s->load_capacity, sizeof load);
    s->loads[s->load_count++] = load;
    return REF_MAKE(REF_PARAM, load.row);
}
