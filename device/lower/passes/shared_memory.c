/* Offsets of .shared variables.
 *
 * A function may be called by several kernels, so a variable has one offset for all of them. Two variables
 * may overlap if no kernel reaches both. Extern arrays start after the variables of their kernel; if a
 * function that is not a kernel names one, they start at one offset in all kernels that reach it.
 */
#include "lower/module.h"

enum { DYNAMIC_ALIGN = 16 };

typedef struct SharedVariable {
    const char *name;
    uint64_t *offset;      /* where its offset goes */
    uint64_t size, align;
    uint64_t *entries;     /* set of the kernels that reach it */
} SharedVariable;

typedef struct Layout {
    Lower *lower;
    SharedVariable *variables;
    uint32_t count, capacity;
    uint32_t words;        /* of a set of entries */
    uint64_t
        *end; /* by entry: end of its static variables; from place_dynamic() on, start of extern arrays */
} Layout;

/* Whether an entry reaches a variable. */
static bool is_in(const SharedVariable *v, uint32_t entry)
{
    return v->entries[entry / 64] >> (entry % 64) & 1;
}

/* The entries that reach a function reach the variable. */
static void add_entries(Layout *l, SharedVariable *v, uint32_t function)
{
    for (uint32_t e = 0; e < l->lower->entry_count; e++)
        if (lower_reaches(l->lower, e, function)) v->entries[e / 64] |= UINT64_C(1) << (e % 64);
}

static SharedVariable *add_variable(Layout *l, const PtxVariable *v, uint64_t *offset)
{
    Arena *arena = &l->lower->scratch;
    l->variables = arena_grow(arena, l->variables, l->count, &l->capacity, sizeof *l->variables);
    SharedVariable *shared = &l->variables[l->count++];
    *shared = (SharedVariable){v->name, offset, v->size, v->align ? v->align : 1,
                               ARENA_ZEROS(arena, uint64_t, l->words)};
    return shared;
}

/* Adds the variables that a function declares. */
static void collect_own(Layout *l, FunctionFacts *facts)
{
    const PtxFunction *tree = facts->tree;
    facts->shared_offset = ARENA_ZEROS(&l->lower->scratch, uint64_t, tree->variable_count);
    for (uint32_t i = 0; i < tree->variable_count; i++) {
        const PtxVariable *v = tree->variables[i];
        if (v->space != PTX_SPACE_SHARED || !lower_owns(l->lower, v)) continue;
        add_entries(l, add_variable(l, v, &facts->shared_offset[i]), tree->id);
    }
}

/* Adds a variable of the module. */
static void collect_module(Layout *l, const PtxVariable *v)
{
    Lower *lower = l->lower;
    SharedVariable *shared = add_variable(l, v, &lower->addresses[v->id]);
    for (uint32_t f = 0; f < lower->tree->function_count; f++)
        for (uint32_t i = 0; i < lower->functions[f].shared_count; i++)
            if (lower->functions[f].shared[i] == v->id) add_entries(l, shared, f);
}

static bool are_live_together(const Layout *l, const SharedVariable *a, const SharedVariable *b)
{
    for (uint32_t w = 0; w < l->words; w++)
        if (a->entries[w] & b->entries[w]) return true;
    return false;
}

/* The first variable placed before this one that it would overlap at `offset` in a kernel
 * that reaches both; NULL if there is none. */
static const SharedVariable *find_conflict(const Layout *l, uint32_t index, uint64_t offset)
{
    const SharedVariable *v = &l->variables[index];
    for (uint32_t i = 0; i < index; i++) {
        const SharedVariable *other = &l->variables[i];
        bool overlap = offset < *other->offset + other->size && *other->offset < offset + v->size;
        if (overlap && are_live_together(l, v, other)) return other;
    }
    return NULL;
}

/* Places a variable after those before it that it must not overlap. */
static void place_variable(Layout *l, uint32_t index)
{
    SharedVariable *v = &l->variables[index];
    uint64_t offset = 0;
    for (const SharedVariable *other; (other = find_conflict(l, index, offset));)
        offset = align_up(*other->offset + other->size, v->align);
    *v->offset = offset;
    for (uint32_t e = 0; e < l->lower->entry_count; e++)
        if (is_in(v, e) && offset + v->size > l->end[e]) l->end[e] = offset + v->size;
}

/* Gives the extern arrays that a function names one offset in all kernels that reach it: the largest offset
 * at which static shared memory ends in one of these kernels, aligned. True if they moved in some kernel. */
static bool agree_on_dynamic(Layout *l, FunctionFacts *facts)
{
    Lower *lower = l->lower;
    uint64_t start = 0, align = facts->dynamic_align > DYNAMIC_ALIGN ? facts->dynamic_align : DYNAMIC_ALIGN;
    bool moved = false;
    for (uint32_t e = 0; e < lower->entry_count; e++)
        if (lower_reaches(lower, e, facts->tree->id) && l->end[e] > start) start = l->end[e];
    start = align_up(start, align);
    for (uint32_t e = 0; e < lower->entry_count; e++) {
        if (!lower_reaches(lower, e, facts->tree->id) || l->end[e] == start) continue;
        l->end[e] = start;
        moved = true;
    }
    facts->dynamic_shared = start;
    return moved;
}

/* Places extern arrays. A kernel may reach several functions that name one, so this goes on until none
 * moves. */
static void place_dynamic(Layout *l)
{
    Lower *lower = l->lower;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t f = 0; f < lower->tree->function_count; f++)
            if (lower->functions[f].uses_dynamic) moved |= agree_on_dynamic(l, &lower->functions[f]);
    }
}

static bool names_shared(const FunctionFacts *facts)
{
    if (facts->shared_count || facts->uses_dynamic) return true;
    for (uint32_t i = 0; i < facts->tree->variable_count; i++)
        if (facts->tree->variables[i]->space == PTX_SPACE_SHARED) return true;
    return false;
}

/* Sets needs_shared if a function calls one that has it set. `by_pointer`: some function that can be called
 * through a register has it. True if it was not set before. */
static bool inherit_shared(Lower *lower, FunctionFacts *facts, bool by_pointer)
{
    bool needs = facts->calls_unknown && by_pointer;
    for (uint32_t i = 0; i < facts->callee_count && !needs; i++)
        needs = lower->functions[facts->callees[i]].needs_shared;
    if (!needs || facts->needs_shared) return false;
    facts->needs_shared = true;
    return true;
}

/* Finds the functions that name shared memory, or call one that does, to the fixed point. */
static void find_needs(Lower *lower)
{
    uint32_t count = lower->tree->function_count;
    bool by_pointer = false;
    for (uint32_t f = 0; f < count; f++)
        lower->functions[f].needs_shared = names_shared(&lower->functions[f]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < count; f++)
            by_pointer |= lower->functions[f].address_taken && lower->functions[f].needs_shared;
        for (uint32_t f = 0; f < count; f++)
            changed |= inherit_shared(lower, &lower->functions[f], by_pointer);
        for (uint32_t f = count; f-- > 0;) changed |= inherit_shared(lower, &lower->functions[f], by_pointer);
    }
}

/* The bytes of a kernel's static variables if they stood one after another, as ptxas counts them. */
static uint64_t static_size(const Layout *l, uint32_t entry)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const SharedVariable *v = &l->variables[i];
        if (is_in(v, entry)) size = align_up(size, v->align) + v->size;
    }
    return size;
}

/* The limit on them. The driver's compiler allows a kernel in PTX all that a block can have. */
static uint32_t max_static_shared(const Layout *l, const PtxFunction *entry)
{
    uint32_t max = l->lower->host->max_shared;
    return max && !entry->home->assembled ? max : MAX_STATIC_SHARED;
}

/* Sets a kernel's shared_size: the start of extern arrays. An error if
 * its static variables are above the limit. */
static void set_size(Layout *l, const FunctionFacts *facts)
{
    const PtxFunction *tree = facts->tree;
    if (facts->entry == NO_ENTRY) return;
    uint64_t size = static_size(l, facts->entry);
    uint32_t max = max_static_shared(l, tree);
    if (size > max)
        ptx_report(tree->home, l->lower->log, PTX_INVALID, tree->line, tree->column,
                   "Entry function '%s' uses too much shared data (0x%llx bytes, 0x%x max)%s", tree->name,
                   (unsigned long long)size, max,
                   max > MAX_STATIC_SHARED ? ""
                                           : "; dynamic shared memory (extern __shared__) may be larger");
    facts->code->shared_size = (uint32_t)l->end[facts->entry];
}

/* Lists the variables in a kernel's shared memory, for the messages of checkers. */
static void name_variables(Layout *l, const FunctionFacts *facts)
{
    Arena *keep = l->lower->keep;
    CodeFunction *code = facts->code;
    if (facts->entry == NO_ENTRY || !l->lower->host->checks) return;
    for (uint32_t i = 0; i < l->count; i++) code->shared_count += is_in(&l->variables[i], facts->entry);
    code->shared = ARENA_ARRAY(keep, CodeShared, code->shared_count);
    for (uint32_t i = 0, n = 0; i < l->count; i++) {
        const SharedVariable *v = &l->variables[i];
        if (is_in(v, facts->entry))
            code->shared[n++] = (CodeShared){arena_string(keep, v->name), *v->offset, v->size};
    }
}

void lower_shared_memory(Lower *lower)
{
    Layout l = {.lower = lower, .words = (lower->entry_count + 63) / 64};
    const PtxModule *tree = lower->tree;
    l.end = ARENA_ZEROS(&lower->scratch, uint64_t, lower->entry_count);
    for (uint32_t i = 0; i < tree->global_count; i++) {
        const PtxVariable *v = tree->globals[i];
        if (v->space == PTX_SPACE_SHARED && lower_owns(lower, v)) collect_module(&l, v);
    }
    for (uint32_t f = 0; f < tree->function_count; f++) collect_own(&l, &lower->functions[f]);
    for (uint32_t i = 0; i < l.count; i++) place_variable(&l, i);
    place_dynamic(&l);
    find_needs(lower);
    for (uint32_t f = 0; f < tree->function_count; f++) set_size(&l, &lower->functions[f]);
    for (uint32_t f = 0; f < tree->function_count; f++) name_variables(&l, &lower->functions[f]);
}
