/* Which registers may hold affine rows (exec/code/affine.h), and the operations on them.
 *
 * A dataflow analysis to the greatest fixed point: a register may be affine when everything written to it is
 * computed from constants, parameters, thread indices and other such registers by operations that keep rows
 * affine. Of these registers only those are "wanted" that an address is computed from (a counter alone is as
 * fast as a row, and faster where lanes leave a loop one by one). They get rows with an Affine before them,
 * and the operations that keep them affine become operations "on numbers": on Affines, without the rows.
 * Before any other operation reads such a row, it is "spread": expanded from its Affine. Only kernels are
 * analysed, since the functions that they call share one layout of frames.
 */
#include "lower/ir.h"

#include <string.h>

/* When the result is affine: see affine.def. Those before RULE_COMPARE have an affine result. */
typedef enum Rule {
    RULE_NONE,
    RULE_SUM,
    RULE_PRODUCT,
    RULE_SHIFT,
    RULE_UNIFORM,
    RULE_COMPARE,
    RULE_ACCESS
} Rule;

typedef struct AffineForm {
    uint16_t op;    /* the operation on numbers */
    uint8_t rule;
} AffineForm;

static const AffineForm forms[OP_COUNT] = {
#define AFFINE(name, rule, d, a, b, c) [OP_##name] = {OP_affine_##name, RULE_##rule},
#include "exec/code/affine.def"
#undef AFFINE
};

/* The lattice of the analysis: what a register's rows are known to be. */
typedef uint8_t RowShape;
enum { ROW_UNIFORM, ROW_AFFINE, ROW_ANY };

typedef struct Affinity {
    LowerFunction *f;
    RowShape *shapes;        /* by register */
    uint8_t *wanted;         /* by register: gets an affine row */
    uint8_t *rooted, *compared; /* by register: see find_compared() */
    uint32_t *spread;        /* by register: the block in which its row is expanded, + 1; or 0 */
    bool changed;            /* in this round of a search for a fixed point */
    uint32_t block, line;    /* being rewritten */
} Affinity;

static RowShape row_shape(const Affinity *a, Ref ref)
{
    switch (ref >> REF_BASE_SHIFT) {
    case REF_FRAME: return a->shapes[ref_number(ref)];
    case REF_CONST:
    case REF_PARAM:
    case REF_BLOCK: return ROW_UNIFORM;
    case REF_WARP: return ROW_AFFINE;
    default: return ROW_UNIFORM; /* absent: changes no result */
    }
}

/* The shape that covers both. */
static RowShape worse(RowShape x, RowShape y) { return x > y ? x : y; }

/* The shape of an affine operation's result, by its rule. */
static RowShape result_shape(const Affinity *a, const LowerInsn *i)
{
    RowShape x = row_shape(a, i->a), y = row_shape(a, i->b), z = row_shape(a, i->c),
             max = worse(worse(x, y), z);
    if (max == ROW_ANY) return ROW_ANY;
    switch (forms[i->op].rule) {
    case RULE_SUM: return max;
    case RULE_PRODUCT: return x != ROW_UNIFORM && y != ROW_UNIFORM ? ROW_ANY : max;
    case RULE_SHIFT: return y != ROW_UNIFORM ? ROW_ANY : x;
    case RULE_UNIFORM: return max != ROW_UNIFORM ? ROW_ANY : ROW_UNIFORM;
    default: return ROW_ANY;
    }
}

static bool is_affine_operation(const LowerInsn *i)
{
    Rule rule = forms[i->op].rule;
    return rule != RULE_NONE && rule < RULE_COMPARE && ref_is_register(i->d);
}

static void set_any(void *closure, Ref *ref, bool read, bool written)
{
    Affinity *a = closure;
    (void)read;
    if (written) a->shapes[ref_number(*ref)] = ROW_ANY;
}

/* Finds the shapes to the fixed point. All registers start as uniform;
 * results of other operations are ROW_ANY. */
static void find_shapes(Affinity *a)
{
    LowerFunction *f = a->f;
    for (uint32_t n = 0; n < f->insn_count; n++)
        if (!is_affine_operation(&f->insns[n])) lower_visit(f, &f->insns[n], set_any, a);
    do {
        a->changed = false;
        for (uint32_t n = 0; n < f->insn_count; n++) {
            const LowerInsn *i = &f->insns[n];
            if (!is_affine_operation(i) || a->shapes[ref_number(i->d)] == ROW_ANY) continue;
            RowShape shape = result_shape(a, i);
            if (shape <= a->shapes[ref_number(i->d)]) continue;
            a->shapes[ref_number(i->d)] = shape;
            a->changed = true;
        }
    } while (a->changed);
}

static bool is_affine(const Affinity *a, Ref ref)
{
    return ref_is_register(ref) && row_shape(a, ref) != ROW_ANY;
}

static void want_affine(Affinity *a, Ref ref)
{
    if (!is_affine(a, ref) || a->wanted[ref_number(ref)]) return;
    a->wanted[ref_number(ref)] = true;
    a->changed = true;
}

static bool is_wanted(const Affinity *a, Ref ref)
{
    return ref_is_register(ref) && a->wanted[ref_number(ref)];
}

/* Whether it accesses memory at an affine address. */
static bool is_access(const Affinity *a, const LowerInsn *i)
{
    return forms[i->op].rule == RULE_ACCESS && is_affine(a, i->a) && !(i->mods & MEM_STRONG);
}

/* Whether it compares only registers that are wanted, and rows that are not registers. */
static bool is_comparison(const Affinity *a, const LowerInsn *i)
{
    return forms[i->op].rule == RULE_COMPARE && (!ref_is_register(i->a) || is_wanted(a, i->a))
           && (!ref_is_register(i->b) || is_wanted(a, i->b));
}

/* Wants the registers that addresses are computed from, to the fixed point. Instructions are visited from the
 * last to the first, since a register is mostly wanted by a later one. */
static void find_wanted(Affinity *a)
{
    LowerFunction *f = a->f;
    do {
        a->changed = false;
        for (uint32_t n = f->insn_count; n-- > 0;) {
            const LowerInsn *i = &f->insns[n];
            if (is_access(a, i)) want_affine(a, i->a);
            if (!is_wanted(a, i->d)) continue;
            want_affine(a, i->a);
            want_affine(a, i->b);
            want_affine(a, i->c);
        }
    } while (a->changed);
}

/* --- registers that only comparisons read
 * ------------------------------------------------------------------ */

/* Whether a row is, or is computed from, a parameter, an index of the thread or block, or
 * a wanted register. A mere counter is not. */
static bool is_rooted(const Affinity *a, Ref ref)
{
    switch (ref >> REF_BASE_SHIFT) {
    case REF_FRAME: return a->wanted[ref_number(ref)] || a->rooted[ref_number(ref)];
    case REF_PARAM:
    case REF_BLOCK:
    case REF_WARP: return true;
    default: return false;
    }
}

/* Finds `rooted` for the results of affine operations, to the fixed point. */
static void find_rooted(Affinity *a)
{
    const LowerFunction *f = a->f;
    do {
        a->changed = false;
        for (uint32_t n = 0; n < f->insn_count; n++) {
            const LowerInsn *i = &f->insns[n];
            if (!is_affine_operation(i) || !is_affine(a, i->d) || a->rooted[ref_number(i->d)]) continue;
            if (!is_rooted(a, i->a) && !is_rooted(a, i->b) && !is_rooted(a, i->c)) continue;
            a->rooted[ref_number(i->d)] = a->changed = true;
        }
    } while (a->changed);
}

/* Whether a source can be read as numbers, as far as is known in this round. */
static bool has_numbers(const Affinity *a, Ref ref)
{
    return !ref_is_register(ref) || a->wanted[ref_number(ref)] || a->compared[ref_number(ref)];
}

/* A register that the instruction reads is not compared as numbers. */
static void drop_compared(void *closure, Ref *ref, bool read, bool written)
{
    Affinity *a = closure;
    (void)written;
    if (!read || !a->compared[ref_number(*ref)]) return;
    a->compared[ref_number(*ref)] = false;
    a->changed = true;
}

/* Drops the registers that an instruction reads if it cannot run on numbers, and its
 * result if it then is not made as numbers. */
static void check_compared(Affinity *a, LowerInsn *i)
{
    const bool reads_numbers = has_numbers(a, i->a) && has_numbers(a, i->b) && has_numbers(a, i->c);
    const bool has_affine_result = is_affine_operation(i) && has_numbers(a, i->d);
    if (reads_numbers && (has_affine_result || forms[i->op].rule == RULE_COMPARE)) return;
    lower_visit(a->f, i, drop_compared, a);
    if (!has_affine_result || !a->compared[ref_number(i->d)]) return;
    a->compared[ref_number(i->d)] = false;
    a->changed = true;
}

/* Wants the registers, too, that are computed from affine rows for comparisons and for nothing else: these
 * compare numbers. The set starts with all candidates (`rooted`) and loses members until it fits. */
static void find_compared(Affinity *a)
{
    LowerFunction *f = a->f;
    find_rooted(a);
    for (uint32_t r = 0; r < f->register_count; r++)
        a->compared[r] = a->shapes[r] != ROW_ANY && a->rooted[r] && !a->wanted[r];
    do {
        a->changed = false;
        for (uint32_t n = 0; n < f->insn_count; n++) check_compared(a, &f->insns[n]);
    } while (a->changed);
    for (uint32_t r = 0; r < f->register_count; r++) a->wanted[r] |= a->compared[r];
}

/* --- the code ------------------------------------------------------------------------------------------ */

/* Expands a wanted register that the instruction reads, unless that was done before in this block. */
static void spread_source(void *closure, Ref *ref, bool read, bool written)
{
    Affinity *a = closure;
    uint32_t r = ref_number(*ref);
    if (!read || written || !a->wanted[r] || a->spread[r] == a->block + 1) return;
    uint16_t op = a->f->classes[r] == CLASS_AFFINE_64 ? OP_spread_b64 : OP_spread_b32;
    LowerInsn *i = lower_new_insn(a->f, op, a->line);
    i->a = *ref;
    a->spread[r] = a->block + 1;
}

/* Expands what an instruction on rows reads. */
static void spread_sources(Affinity *a, LowerInsn *i, bool access)
{
    Ref address = i->a;
    if (access) i->a = REF_ABSENT; /* the address is read as numbers; the values stored are rows */
    a->line = i->line;
    lower_visit(a->f, i, spread_source, a);
    i->a = address;
}

/* Appends an instruction, on numbers where it can be, after what expands its sources. */
static void rewrite_affine(Affinity *a, LowerInsn i)
{
    bool access = is_access(a, &i), on_numbers = is_wanted(a, i.d) || is_comparison(a, &i);
    if (!on_numbers) spread_sources(a, &i, access);
    if (access || on_numbers) i.op = forms[i.op].op;
    if (is_wanted(a, i.d)) a->spread[ref_number(i.d)] = 0;
    *lower_add_insn(a->f) = i;
}

/* Writes the instructions of all blocks again. */
static void rewrite_all(Affinity *a)
{
    LowerFunction *f = a->f;
    const LowerInsn *text = f->insns;
    lower_reserve(f, f->insn_count + f->insn_count / 8 + 16);
    for (a->block = 0; a->block < f->block_count; a->block++) {
        LowerBlock *block = &f->blocks[a->block], old = *block;
        block->first = f->insn_count;
        for (uint32_t n = 0; n < old.count; n++) rewrite_affine(a, text[old.first + n]);
        block->count = f->insn_count - block->first;
    }
}

void lower_affine(LowerFunction *f)
{
    Affinity a = {.f = f};
    a.shapes = ARENA_ZEROS(f->scratch, RowShape, f->register_count);
    a.wanted = ARENA_ZEROS(f->scratch, uint8_t, f->register_count);
    a.spread = ARENA_ZEROS(f->scratch, uint32_t, f->register_count);
    find_shapes(&a);
    find_wanted(&a);
    if (!memchr(a.wanted, true, f->register_count)) return;
    a.rooted = ARENA_ZEROS(f->scratch, uint8_t, f->register_count);
    a.compared = ARENA_ZEROS(f->scratch, uint8_t, f->register_count);
    find_compared(&a);
    for (uint32_t r = 0; r < f->register_count; r++)
        if (a.wanted[r]) f->classes[r] = f->classes[r] == CLASS_64 ? CLASS_AFFINE_64 : CLASS_AFFINE_32;
    rewrite_all(&a);
}
