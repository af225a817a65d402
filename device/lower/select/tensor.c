/* Tensor maps, and copies of boxes of tensors. */
#include "exec/async/mbarrier.h"
#include "exec/async/tensor_map.h"
#include "lower/select/select.h"

/* What a word of a mnemonic stands for. */
typedef struct Word {
    PtxModifier word;
    uint8_t value;
} Word;

/* The value of the first row whose word the form has; `otherwise` if it has none. */
static uint8_t value_of(const PtxForm *form, const Word *words, size_t count, uint8_t otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (ptx_has(form, words[i].word)) return words[i].value;
    return otherwise;
}
#define VALUE_OF(form, words, otherwise) value_of(form, words, sizeof(words) / sizeof *(words), otherwise)

/* --- tensormap ---------------------------------------------------------------------------------------- */

static const Word fields[] = {
    {PTX_MOD_global_address, TENSOR_ADDRESS},
    {PTX_MOD_rank, TENSOR_RANK_LESS_1},
    {PTX_MOD_box_dim, TENSOR_BOX_DIM},
    {PTX_MOD_global_dim, TENSOR_GLOBAL_DIM},
    {PTX_MOD_global_stride, TENSOR_GLOBAL_STRIDE},
    {PTX_MOD_element_stride, TENSOR_ELEMENT_STRIDE},
    {PTX_MOD_elemtype, TENSOR_ELEMTYPE},
    {PTX_MOD_interleave_layout, TENSOR_INTERLEAVE},
    {PTX_MOD_swizzle_mode, TENSOR_SWIZZLE},
    {PTX_MOD_swizzle_atomicity, TENSOR_ATOMICITY},
    {PTX_MOD_fill_mode, TENSOR_FILL},
};

/* tensormap.replace [map], {number of a dimension,} value */
static void select_replace(Select *s)
{
    const PtxForm *form = s->insn->form;
    unsigned field = VALUE_OF(form, fields, TENSOR_FILL), dimension = 0;
    bool of_dimension = field == TENSOR_BOX_DIM || field == TENSOR_GLOBAL_DIM || field == TENSOR_GLOBAL_STRIDE
                        || field == TENSOR_ELEMENT_STRIDE;
    bool shared = false;
    if (of_dimension) dimension = (unsigned)operand_at(s, 1)->bits & UINT8_MAX;
    const PtxOperand *value = operand_at(s, 1 + of_dimension);
    TensorMap probe; /* to ask whether a field of constants can have the value */
    tensor_map_begin(&probe);
    if (field >= TENSOR_ELEMTYPE && tensor_map_set(&probe, (TensorField)field, 0, value->bits)) {
        select_unsupported(s, "a tensor map with this value");
        return;
    }
    Ref a = select_wide_address(s, operand_at(s, 0), form->spaces[0], &shared);
    Ref b = select_source(s, value, form->types[1]);
    LowerInsn *insn = select_emit(s, OP_tensormap_replace);
    insn->a = a;
    insn->b = b;
    insn->imm = field | dimension << 8;
    insn->mods = shared ? MEM_SHARED : 0;
}

void select_tensormap(Select *s)
{
    const PtxForm *form = s->insn->form;
    if (ptx_has(form, PTX_MOD_replace)) {
        select_replace(s);
        return;
    }
    Ref b = select_wide_address(s, operand_at(s, 0), form->spaces[0], NULL);
    Ref a = select_wide_address(s, operand_at(s, 1), form->spaces[1], NULL);
    LowerInsn *insn = select_emit(s, OP_tensormap_copy);
    insn->a = a;
    insn->b = b;
}

/* --- copies ------------------------------------------------------------------------------------------- */

static const Word reductions[] = {
    {PTX_MOD_add, TENSOR_ADD}, {PTX_MOD_min, TENSOR_MIN}, {PTX_MOD_max, TENSOR_MAX},
    {PTX_MOD_inc, TENSOR_INC}, {PTX_MOD_dec, TENSOR_DEC}, {PTX_MOD_and, TENSOR_AND},
    {PTX_MOD_or, TENSOR_OR},   {PTX_MOD_xor, TENSOR_XOR},
};

static const Word modes[] = {{PTX_MOD_im2col, TENSOR_IM2COL},
                             {PTX_MOD_im2col_no_offs, TENSOR_IM2COL},
                             {PTX_MOD_im2col_w, TENSOR_IM2COL_W},
                             {PTX_MOD_im2col_w_128, TENSOR_IM2COL_W128}};

static bool is_supported(const PtxForm *form)
{
    static const PtxModifier unsupported[] = {PTX_MOD_tile_gather4, PTX_MOD_tile_scatter4,
                                              PTX_MOD_cta_group_1, PTX_MOD_cta_group_2};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (ptx_has(form, unsupported[i])) return false;
    return true;
}

/* Operands of a load after destination and source; a mask of blocks may
 * follow. A store has no barrier and no offsets. */
enum { BARRIER = 2, OFFSETS = 3 };

/* The vector of offsets of pixels, checked to have as many as the mode needs; NULL if the copy has none. */
static const PtxOperand *find_offsets(Select *s, TensorMode mode, bool store, bool prefetch)
{
    if (mode == TENSOR_TILED) return NULL;
    uint32_t rank = operand_at(s, !store && !prefetch)->items[1].count;
    if (rank < TENSOR_MIN_IMAGE_RANK)
        select_error(s, operand_at(s, 0)->column, "a batch of images has 3 to 5 dimensions");
    if (store) return NULL;
    const PtxOperand *offsets = operand_at(s, prefetch ? 1 : OFFSETS);
    if (offsets->count != tensor_offset_count(mode, rank))
        select_error(s, offsets->column,
                     "mode im2col has an offset for each of W, H, D, modes im2col::w two");
    return offsets;
}

/* Emits an OP_cp_tensor (its row in core.def says what the instruction holds) between a box of a tensor and
 * shared memory. */
static void emit_tensor_copy(Select *s, bool store)
{
    const PtxForm *form = s->insn->form;
    const PtxOperand *destination = operand_at(s, 0), *source = operand_at(s, 1);
    const PtxOperand *shared = store ? source : destination, *tensor = store ? destination : source;
    const PtxOperand *map = &tensor->items[0], *place = &tensor->items[1];
    bool multicast = ptx_has(form, PTX_MOD_multicast_cluster);
    TensorMode mode = (TensorMode)VALUE_OF(form, modes, TENSOR_TILED);
    const PtxOperand *offsets = find_offsets(s, mode, store, false);
    uint32_t given = s->insn->operand_count - ptx_has(form, PTX_MOD_L2_cache_hint);
    Ref refs[TENSOR_RANK + TENSOR_SPACE + 1];
    if (given != 2u + !store + multicast + !!offsets) {
        select_unsupported(s, "a mask of blocks without .multicast::cluster");
        return;
    }
    uint32_t rank = place->count, count = rank;
    for (uint32_t i = 0; i < rank; i++) refs[i] = select_source(s, &place->items[i], PTX_s32);
    for (uint32_t i = 0; offsets && i < offsets->count && i < TENSOR_SPACE; i++)
        refs[count++] = select_source(s, &offsets->items[i], PTX_u16);
    Ref a = select_source(s, map, PTX_b64);
    Ref b = select_wide_address(s, shared, form->spaces[store], NULL);
    Ref barrier = store ? REF_ABSENT : select_wide_address(s, operand_at(s, BARRIER), PTX_SPACE_SHARED, NULL);
    if (multicast) refs[count++] = select_source(s, operand_at(s, given - 1), PTX_u32);
    uint32_t more = lower_new_refs(s->f, refs, count);
    LowerInsn *insn = select_emit(s, OP_cp_tensor);
    insn->a = a;
    insn->b = b;
    insn->e = barrier;
    insn->more = more;
    insn->more_count = (uint8_t)count;
    insn->imm = (int64_t)rank | (store ? TENSOR_STORE : 0) | (int64_t)mode << TENSOR_MODE_SHIFT;
    if (ptx_has(form, PTX_MOD_reduce))
        insn->imm |= (int64_t)VALUE_OF(form, reductions, TENSOR_COPIED) << TENSOR_REDUCE_SHIFT;
    insn->mods = multicast ? BULK_TO_BLOCKS : 0;
}

void select_tensor_copy(Select *s)
{
    const PtxForm *form = s->insn->form;
    if (!is_supported(form))
        select_unsupported(s, "a copy of scattered rows, or to a pair of blocks");
    else if (ptx_has(form, PTX_MOD_prefetch)) /* is checked, and does nothing */
        find_offsets(s, (TensorMode)VALUE_OF(form, modes, TENSOR_TILED), false, true);
    else
        emit_tensor_copy(s, form->spaces[0] == PTX_SPACE_GLOBAL);
}
