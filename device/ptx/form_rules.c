/* Which words of a mnemonic go together, where the rows of instructions.def alone would be too many: caches
 * and state spaces, sizes of vectors, orders with their scopes. Asked once for each spelling.
 *
 * The rules are those of the assembler of PTX 9.0. A text of a later version is not checked: it may have
 * more.
 */
#include "ptx/parser.h"

enum { NEWEST_KNOWN = 90, VECTOR_BITS = 128 };

typedef struct PtxFormCheck {
    PtxParser *p;
    const PtxForm *form;
    uint32_t line, column;
} PtxFormCheck;

static bool ptx_in_global(const PtxForm *form) { return ptx_is_generic_or_global((PtxSpace)form->spaces[0]); }

static bool ptx_in_shared(const PtxForm *form)
{
    return form->spaces[0] == PTX_SPACE_SHARED || form->spaces[0] == PTX_SPACE_SHARED_CTA
           || form->spaces[0] == PTX_SPACE_SHARED_CLUSTER;
}

static _Noreturn void ptx_fail_word(const PtxFormCheck *c, unsigned word, const char *why)
{
    ptx_fail(c->p, c->line, c->column, "'.%s' of '%s' %s", ptx_modifiers[word].spelling, c->form->spelling,
             why);
}

static bool ptx_is_l1_hint(unsigned word)
{
    return word >= PTX_MOD_L1_evict_normal && word <= PTX_MOD_L1_no_allocate;
}

static bool ptx_is_l2_priority(unsigned word)
{
    return word >= PTX_MOD_L2_evict_normal && word <= PTX_MOD_L2_evict_unchanged;
}

static bool ptx_is_l2_size(unsigned word) { return word >= PTX_MOD_L2_64B && word <= PTX_MOD_L2_256B; }

static bool ptx_has_cache_operator(const PtxForm *form)
{
    for (unsigned i = 0; i < form->modifier_count; i++)
        if (ptx_modifiers[form->modifiers[i]].group == PTX_GROUP_CACHE && form->modifiers[i] != PTX_MOD_nc)
            return true;
    return false;
}

/* Whether it moves 32 bytes at once: .v8 of 32 bits or .v4 of 64. */
static bool ptx_is_wide_access(const PtxForm *form)
{
    unsigned bits = ptx_type_bits((PtxType)form->types[0]);
    return (form->vector == 8 && bits == 32) || (form->vector == 4 && bits == 64);
}

/* A vector has at most 16 bytes; in global memory, where the target has them, 32. */
static void ptx_check_vector_size(const PtxFormCheck *c)
{
    const PtxForm *form = c->form;
    const PtxModule *m = c->p->module;
    bool wide = (form->opcode == PTX_OP_ld || form->opcode == PTX_OP_st) && ptx_is_wide_access(form);
    if (form->vector * ptx_type_bits((PtxType)form->types[0]) <= VECTOR_BITS) return;
    if (wide && (m->target < 100 || m->version < 88))
        ptx_fail(c->p, c->line, c->column, "'%s' moves 32 bytes, which needs .target sm_100 and .version 8.8",
                 form->spelling);
    if (wide && ptx_in_global(form)) return;
    ptx_fail(c->p, c->line, c->column, "'%s' moves more than 16 bytes%s", form->spelling,
             wide ? ", which global memory alone can" : "");
}

/* Hints for caches are for global memory; some exclude a cache operator, or need a wide access. */
static void ptx_check_cache_words(const PtxFormCheck *c)
{
    const PtxForm *form = c->form;
    for (unsigned i = 0; i < form->modifier_count; i++) {
        unsigned word = form->modifiers[i];
        bool l1 = ptx_is_l1_hint(word), priority = ptx_is_l2_priority(word);
        if (!l1 && !priority && !ptx_is_l2_size(word) && word != PTX_MOD_L2_cache_hint) continue;
        if (!ptx_in_global(form)) ptx_fail_word(c, word, "is for global memory");
        if (l1 && ptx_has_cache_operator(form)) ptx_fail_word(c, word, "takes the place of a cache operator");
        if (priority && !ptx_is_wide_access(form))
            ptx_fail_word(c, word, "is for '.v8' of 32 bits or '.v4' of 64");
    }
}

/* An order such as .relaxed needs memory that other threads see. .volatile may be in any space: NVRTC 13.5
 * writes st.volatile.local, which ptxas 13.0 refuses. */
static void ptx_check_order(const PtxFormCheck *c)
{
    unsigned order = c->form->group[PTX_GROUP_SEMANTICS];
    if (order && order != PTX_MOD_weak && order != PTX_MOD_volatile && !ptx_in_global(c->form)
        && !ptx_in_shared(c->form))
        ptx_fail_word(c, order, "is for global and shared memory");
}

/* An order and its scope stand together. */
static void ptx_check_scope(const PtxFormCheck *c)
{
    unsigned order = c->form->group[PTX_GROUP_SEMANTICS], scope = c->form->group[PTX_GROUP_SCOPE];
    if (order && !scope) ptx_fail_word(c, order, "needs a scope: .cta or .cluster");
    if (scope && !order) ptx_fail_word(c, scope, "needs an order such as .relaxed before it");
}

/* Between integers, .sat is allowed only if some value of the source does not fit the result. */
static void ptx_check_saturation(const PtxFormCheck *c)
{
    const PtxTypeInfo *to = &ptx_types[c->form->types[0]], *from = &ptx_types[c->form->types[1]];
    bool integers = c->form->type_count == 2 && from->class != PTX_FLOAT && to->class != PTX_FLOAT;
    bool holds =
        to->class == from->class ? to->bits >= from->bits : to->class == PTX_SIGNED && to->bits > from->bits;
    if (integers && holds && ptx_has(c->form, PTX_MOD_sat))
        ptx_fail_word(c, PTX_MOD_sat, "does not apply: every value fits");
}

/* The forms without .sync are for targets before sm_70, whose threads do not diverge independently. */
static void ptx_check_sync(const PtxFormCheck *c)
{
    const PtxModule *m = c->p->module;
    if (!ptx_has(c->form, PTX_MOD_sync) && m->target >= 70 && m->version >= 64)
        ptx_fail(c->p, c->line, c->column, "'%s' needs .sync from sm_70 and PTX 6.4 on", c->form->spelling);
}

/* A mad of floats must name its rounding since PTX 3.2, except for sm_1x. */
static void ptx_check_mad(const PtxFormCheck *c)
{
    const PtxModule *m = c->p->module;
    if (c->form->types[0] == PTX_f32 && !c->form->group[PTX_GROUP_ROUND] && m->target >= 20
        && m->version >= 32)
        ptx_fail(c->p, c->line, c->column, "'%s' needs a rounding such as .rn from PTX 3.2 on",
                 c->form->spelling);
}

static void ptx_check_wmma(const PtxFormCheck *c)
{
    const PtxModule *m = c->p->module;
    bool floats = ptx_types[c->form->types[0]].class == PTX_FLOAT;
    if (!ptx_has(c->form, PTX_MOD_aligned) && m->version >= 63)
        ptx_fail(c->p, c->line, c->column, "'%s' needs .aligned from PTX 6.3 on", c->form->spelling);
    if (floats && ptx_has(c->form, PTX_MOD_satfinite) && m->version >= 65)
        ptx_fail_word(c, PTX_MOD_satfinite, "is for integers from PTX 6.5 on");
}

void ptx_check_form(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column)
{
    PtxFormCheck check = {p, form, line, column};
    if (p->module->version > NEWEST_KNOWN) return;
    switch (form->opcode) {
    case PTX_OP_ld:
    case PTX_OP_st:
        if (ptx_has(form, PTX_MOD_async) || ptx_has(form, PTX_MOD_bulk)) return;
        ptx_check_order(&check);
        ptx_check_vector_size(&check);
        ptx_check_cache_words(&check);
        return;
    case PTX_OP_atom:
    case PTX_OP_red:
        ptx_check_cache_words(&check);
        ptx_check_vector_size(&check);
        return;
    case PTX_OP_mov:
    case PTX_OP_ldu:
    case PTX_OP_suld:
    case PTX_OP_sust: ptx_check_vector_size(&check); return;
    case PTX_OP_mbarrier: ptx_check_scope(&check); return;
    case PTX_OP_cvt: ptx_check_saturation(&check); return;
    case PTX_OP_tex:
        if ((ptx_has(form, PTX_MOD_cube) || ptx_has(form, PTX_MOD_acube)) && form->types[1] != PTX_f32)
            ptx_fail(p, line, column, "'%s': coordinates of cubes must be of type .f32", form->spelling);
        return;
    case PTX_OP_mad: ptx_check_mad(&check); return;
    case PTX_OP_wmma: ptx_check_wmma(&check); return;
    case PTX_OP_shfl:
    case PTX_OP_vote: ptx_check_sync(&check); return;
    default: return;
    }
}
