/* Textures and surfaces, by handles in registers or by variables (.texref, .surfref). Separate samplers
 * (.samplerref) are refused by the parser: the driver API has none. */
#include "exec/texture/texture.h"
#include "lower/select/select.h"

/* Where the further operands of an instruction are: each has four, of which unused ones are absent. */
enum {
    VALUES = 0,
    COORDINATES = 4,
    LEVEL = 8, /* one, or the first gradient */
    GRADIENT_X = 8,
    GRADIENT_Y = 12,
    MAX_REFS = 16
};
enum { MAX_VALUES = 4 };

/* The operands of an instruction. */
typedef struct TextureOperands {
    Ref handle;
    Ref refs[MAX_REFS];
    uint8_t count; /* of refs: up to the coordinates, the level or the gradients */
    uint16_t mods;
} TextureOperands;

/* *shape: TEXTURE_* of the form; false after an error. */
static bool texture_shape(Select *s, uint16_t *shape)
{
    switch (s->insn->form->group[PTX_GROUP_SHAPE]) {
    case PTX_MOD_1d: *shape = TEXTURE_1D; return true;
    case PTX_MOD_2d: *shape = TEXTURE_2D; return true;
    case PTX_MOD_3d: *shape = TEXTURE_3D; return true;
    case PTX_MOD_a1d: *shape = TEXTURE_A1D; return true;
    case PTX_MOD_a2d: *shape = TEXTURE_A2D; return true;
    case PTX_MOD_cube: *shape = TEXTURE_CUBE; return true;
    case PTX_MOD_acube: *shape = TEXTURE_ACUBE; return true;
    default: select_unsupported(s, "this dimension"); return false;
    }
}

static unsigned coordinate_count(unsigned shape)
{
    static const uint8_t counts[] = {
        [TEXTURE_1D] = 1,  [TEXTURE_2D] = 2,   [TEXTURE_3D] = 3,   [TEXTURE_A1D] = 2,
        [TEXTURE_A2D] = 3, [TEXTURE_CUBE] = 3, [TEXTURE_ACUBE] = 4};
    return counts[shape];
}

static bool is_surface_op(const Select *s)
{
    switch (s->insn->form->opcode) {
    case PTX_OP_suld:
    case PTX_OP_sust:
    case PTX_OP_sured:
    case PTX_OP_suq: return true;
    default: return false;
    }
}

/* *handle: that of a reference, its number in CodeModule.references; false after an error. */
static bool reference_of(Select *s, const PtxOperand *o, Ref *handle)
{
    const PtxVariable *v = o->variable;
    PtxType wanted = is_surface_op(s) ? PTX_surfref : PTX_texref;
    bool any_type = s->insn->form->opcode == PTX_OP_istypep;
    if (v->space != PTX_SPACE_GLOBAL || o->offset
        || (v->type != wanted && !(any_type && ptx_types[v->type].class == PTX_OPAQUE))) {
        select_error(s, o->column, "a .%s variable of .global or a handle in a register is expected here",
                     ptx_types[wanted].name);
        return false;
    }
    *handle = select_variable_address(s, o, CLASS_64);
    return !s->failed;
}

/* *handle: that of an operand, a reference or a register; false after an error. */
static bool handle_of(Select *s, const PtxOperand *o, Ref *handle)
{
    bool address = o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_REGISTER && !o->offset;
    if (o->kind == PTX_OPERAND_VARIABLE || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_VARIABLE))
        return reference_of(s, o, handle);
    if ((o->kind != PTX_OPERAND_REGISTER && !address) || ptx_type_bits((PtxType)o->type) != 64) {
        select_error(s, o->column, "a handle in a 64-bit register is expected here");
        return false;
    }
    *handle = REF_MAKE(REF_FRAME, o->reg);
    return true;
}

/* A coordinate, level or part of a gradient, of 32 bits. */
static Ref read_number(Select *s, const PtxOperand *item)
{
    bool is_immediate = item->kind == PTX_OPERAND_IMMEDIATE;
    bool is_decimal = is_immediate && item->type != PTX_s64 && item->type != PTX_u64;
    return select_source(s, item, is_decimal ? PTX_f32 : PTX_b32);
}

/* Reads the first `needed` numbers of a vector, or one number alone, to refs. False if there are fewer, with
 * an error that calls them `what`. */
static bool read_vector(Select *s, const PtxOperand *vector, unsigned needed, const char *what, Ref *refs)
{
    uint32_t count;
    const PtxOperand *items = elements_of(vector, &count);
    if (count < needed || count > MAX_VALUES) {
        select_error(s, vector->column, "%u %s are expected here", needed, what);
        return false;
    }
    for (unsigned k = 0; k < needed; k++) refs[k] = read_number(s, &items[k]);
    return true;
}

/* Starts *t with the place of an access, [handle, {coordinates}]. The
 * shape goes to mods. False after an error. */
static bool read_place(Select *s, const PtxOperand *tuple, TextureOperands *t)
{
    uint16_t shape;
    for (int k = 0; k < MAX_REFS; k++) t->refs[k] = REF_ABSENT;
    t->count = COORDINATES + MAX_VALUES;
    if (!texture_shape(s, &shape)) return false;
    if (tuple->kind != PTX_OPERAND_TUPLE || tuple->count != 2) {
        select_error(s, tuple->column, "a handle and coordinates are expected here");
        return false;
    }
    if (!handle_of(s, &tuple->items[0], &t->handle)) return false;
    t->mods = shape;
    return read_vector(s, &tuple->items[1], coordinate_count(shape), "coordinates", t->refs + COORDINATES);
}

/* Appends an instruction with the operands, of which the first `written` are destinations. */
static LowerInsn *emit_texture(Select *s, uint16_t op, const TextureOperands *t, unsigned written)
{
    uint32_t more = lower_new_refs(s->f, t->refs, t->count);
    LowerInsn *insn = select_emit(s, op);
    insn->a = t->handle;
    insn->mods = t->mods;
    insn->more = more;
    insn->more_count = t->count;
    insn->more_written = (uint8_t)written;
    return insn;
}

/* The destinations of tex and tld4, and *resident, the predicate after them or absent. False after an
 * error. */
static bool read_results(Select *s, TextureOperands *t, Ref *resident)
{
    const PtxOperand *o = operand_at(s, 0);
    bool pair = o->kind == PTX_OPERAND_PAIR;
    const PtxOperand *values = pair ? &o->items[0] : o;
    *resident = pair ? select_optional_dest(s, &o->items[1], CLASS_PREDICATE) : REF_ABSENT;
    uint32_t count;
    const PtxOperand *elements = elements_of(values, &count);
    if (ptx_type_bits(s->insn->form->types[0]) != 32 || s->insn->form->types[0] == PTX_f16x2
        || count > MAX_VALUES) {
        select_unsupported(s, "this type of result");
        return false;
    }
    for (uint32_t k = 0; k < count; k++)
        t->refs[VALUES + k] = select_optional_dest(s, &elements[k], CLASS_32);
    return true;
}

/* How many numbers of a gradient are used: one for each axis. Those of cubes and of 3-d textures are vectors
 * of four, whose last is not. */
static unsigned gradient_count(unsigned shape)
{
    return shape == TEXTURE_1D || shape == TEXTURE_A1D   ? 1
           : shape == TEXTURE_2D || shape == TEXTURE_A2D ? 2
                                                         : 3;
}

/* Reads the level or the gradients after the place. Offsets and comparisons
 * are not supported. False after an error. */
static bool read_detail(Select *s, TextureOperands *t)
{
    bool level = ptx_has(s->insn->form, PTX_MOD_level), gradients = ptx_has(s->insn->form, PTX_MOD_grad);
    uint32_t expected = level ? 3 : gradients ? 4 : 2;
    unsigned count = gradient_count(t->mods & TEX_SHAPE);
    if (s->insn->operand_count > expected) {
        select_unsupported_at(s, operand_at(s, expected)->column, "an offset or a depth to compare with");
        return false;
    }
    if (level) {
        t->mods |= TEX_LEVEL;
        t->count = LEVEL + 1;
        t->refs[LEVEL] = read_number(s, operand_at(s, 2));
        return true;
    }
    if (!gradients) return true;
    t->mods |= TEX_GRAD;
    t->count = MAX_REFS;
    return read_vector(s, operand_at(s, 2), count, "numbers of a gradient", t->refs + GRADIENT_X)
           && read_vector(s, operand_at(s, 3), count, "numbers of a gradient", t->refs + GRADIENT_Y);
}

void select_tex(Select *s)
{
    TextureOperands t = {0};
    Ref resident;
    if (!read_place(s, operand_at(s, 1), &t) || !read_detail(s, &t) || !read_results(s, &t, &resident))
        return;
    if (s->insn->form->types[1] == PTX_s32) t.mods |= TEX_INTEGERS;
    LowerInsn *insn = emit_texture(s, OP_tex, &t, MAX_VALUES);
    insn->e = resident;
    insn->flags |= FLAG_E_WRITTEN;
}

void select_tld4(Select *s)
{
    static const PtxModifier channels[] = {PTX_MOD_r, PTX_MOD_g, PTX_MOD_b, PTX_MOD_a};
    TextureOperands t = {0};
    Ref resident;
    int channel = 0; /* .a if none of the others */
    while (channel < 3 && !ptx_has(s->insn->form, channels[channel])) channel++;
    if (!read_place(s, operand_at(s, 1), &t) || !read_detail(s, &t) || !read_results(s, &t, &resident))
        return;
    if ((t.mods & TEX_SHAPE) != TEXTURE_2D) {
        select_unsupported(s, "this dimension");
        return;
    }
    LowerInsn *insn = emit_texture(s, OP_tld4, &t, MAX_VALUES);
    insn->imm = channel;
    insn->e = resident;
    insn->flags |= FLAG_E_WRITTEN;
}

/* txq and suq */
void select_txq(Select *s)
{
    static const struct {
        PtxModifier modifier;
        TextureQuery query;
    } queries[] = {
        {PTX_MOD_width, QUERY_WIDTH},
        {PTX_MOD_height, QUERY_HEIGHT},
        {PTX_MOD_depth, QUERY_DEPTH},
        {PTX_MOD_array_size, QUERY_ARRAY_SIZE},
        {PTX_MOD_channel_data_type, QUERY_CHANNEL_DATA_TYPE},
        {PTX_MOD_channel_order, QUERY_CHANNEL_ORDER},
        {PTX_MOD_normalized_coords, QUERY_NORMALIZED_COORDS},
        {PTX_MOD_filter_mode, QUERY_FILTER_MODE},
        {PTX_MOD_addr_mode_0, QUERY_ADDR_MODE_0},
        {PTX_MOD_addr_mode_1, QUERY_ADDR_MODE_1},
        {PTX_MOD_addr_mode_2, QUERY_ADDR_MODE_2},
        {PTX_MOD_num_mipmap_levels, QUERY_NUM_MIPMAP_LEVELS},
        {PTX_MOD_num_samples, QUERY_NUM_SAMPLES},
    };
    enum { QUERIES = sizeof queries / sizeof *queries };
    const PtxForm *form = s->insn->form;
    unsigned k = 0;
    Ref handle;
    while (k < QUERIES && !ptx_has(form, queries[k].modifier)) k++;
    if (k == QUERIES) {
        select_unsupported(s, "this query");
        return;
    }
    if (!handle_of(s, operand_at(s, 1), &handle)) return;
    Ref level = ptx_has(form, PTX_MOD_level) ? select_source(s, operand_at(s, 2), PTX_u32) : REF_ABSENT;
    Ref d = select_dest(s, operand_at(s, 0), CLASS_32);
    LowerInsn *insn = select_emit(s, form->opcode == PTX_OP_suq ? OP_suq : OP_txq);
    insn->d = d;
    insn->a = handle;
    insn->b = level;
    insn->imm = queries[k].query;
}

/* --- surfaces ----------------------------------------------------------------------------------------- */

/* The class of the registers among the elements, or of the type if there are none. */
static RegisterClass surface_class(const Select *s, const PtxOperand *elements, uint32_t count, PtxType type)
{
    RegisterClass class = class_of(type);
    for (uint32_t k = 0; k < count; k++)
        if (elements[k].kind == PTX_OPERAND_REGISTER)
            class = select_class(s, REF_MAKE(REF_FRAME, elements[k].reg));
    return class;
}

/* The elements that a surface access moves, or NULL after an error. Their number, the size of their rows and
 * what happens outside the surface go to mods. */
static const PtxOperand *read_elements(Select *s, const PtxOperand *values, TextureOperands *t,
                                       uint32_t *count, RegisterClass *class)
{
    PtxModifier boundary = s->insn->form->group[PTX_GROUP_BOUNDARY];
    const PtxOperand *elements = elements_of(values, count);
    *class = surface_class(s, elements, *count, s->insn->form->types[0]);
    if (*class < class_of(s->insn->form->types[0]) || *class > CLASS_64 || *count > MAX_VALUES
        || *count == 3) {
        select_unsupported(s, "an access of this width");
        return NULL;
    }
    /* Logarithms of the number of elements, and of the size of their rows relative to those of 16 bits. */
    unsigned count_shift = *count == 4 ? 2 : *count == 2,
             row_shift = *class == CLASS_64 ? 2 : *class == CLASS_32;
    t->mods |= (uint16_t)(count_shift << TEX_COUNT_SHIFT | row_shift << TEX_ROW_SHIFT);
    if (boundary == PTX_MOD_clamp) t->mods |= TEX_CLAMP;
    if (boundary == PTX_MOD_zero) t->mods |= TEX_ZERO;
    return elements;
}

void select_suld(Select *s)
{
    TextureOperands t = {0};
    uint32_t count;
    RegisterClass class;
    if (!read_place(s, operand_at(s, 1), &t)) return;
    const PtxOperand *elements = read_elements(s, operand_at(s, 0), &t, &count, &class);
    if (!elements) return;
    for (uint32_t k = 0; k < count; k++) t.refs[VALUES + k] = select_optional_dest(s, &elements[k], class);
    emit_texture(s, OP_suld, &t, MAX_VALUES)->imm = ptx_type_bytes(s->insn->form->types[0]);
}

void select_sust(Select *s)
{
    TextureOperands t = {0};
    uint32_t count;
    RegisterClass class;
    PtxType type = s->insn->form->types[0];
    if (!read_place(s, operand_at(s, 0), &t)) return;
    const PtxOperand *elements = read_elements(s, operand_at(s, 1), &t, &count, &class);
    if (!elements) return;
    for (uint32_t k = 0; k < count; k++)
        t.refs[VALUES + k] = elements[k].kind == PTX_OPERAND_REGISTER
                                 ? REF_MAKE(REF_FRAME, elements[k].reg)
                                 : lower_constant(s->lower, class, ptx_immediate_bits(&elements[k], type), 0);
    emit_texture(s, ptx_has(s->insn->form, PTX_MOD_p) ? OP_sust_p : OP_sust, &t, 0)->imm =
        ptx_type_bytes(type);
}

void select_sured(Select *s)
{
    static const uint8_t reductions[PTX_MOD_COUNT] = {[PTX_MOD_add] = SURFACE_ADD,
                                                      [PTX_MOD_min] = SURFACE_MIN,
                                                      [PTX_MOD_max] = SURFACE_MAX,
                                                      [PTX_MOD_and] = SURFACE_AND,
                                                      [PTX_MOD_or] = SURFACE_OR};
    const PtxForm *form = s->insn->form;
    PtxType type = form->types[0];
    TextureOperands t = {0};
    uint32_t count;
    RegisterClass class;
    if (!read_place(s, operand_at(s, 0), &t) || !read_elements(s, operand_at(s, 1), &t, &count, &class))
        return;
    t.refs[VALUES] = select_source(s, operand_at(s, 1), type);
    int64_t what = reductions[form->group[PTX_GROUP_OPERATION]];
    what = what << SURFACE_REDUCTION_SHIFT | ptx_type_bytes(type);
    if (is_signed(type)) what |= SURFACE_SIGNED;
    if (ptx_has(form, PTX_MOD_p)) what |= SURFACE_OWN_FORMAT;
    emit_texture(s, OP_sured, &t, 0)->imm = what;
}

/* istypep: whether a handle is of a texture or a surface. None is of a sampler, as textures have their
 * own. */
void select_istypep(Select *s)
{
    PtxType type = s->insn->form->types[0];
    Ref d = select_dest(s, operand_at(s, 0), CLASS_PREDICATE), a = REF_ABSENT;
    if (!handle_of(s, operand_at(s, 1), &a)) return;
    if (type == PTX_samplerref) {
        select_copy(s, d, lower_constant(s->lower, CLASS_PREDICATE, 0, 0));
        return;
    }
    LowerInsn *insn = select_emit(s, OP_istypep);
    insn->d = d;
    insn->a = a;
    insn->imm = type == PTX_surfref;
}
