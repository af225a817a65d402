/* Several modules become one: a name that one of them declares and another defines means the definition.
 *
 * A "part" is one of the modules, the "whole" the joined one, which has the parts' functions, variables and
 * forms, renumbered. Their memory stays in the parts, which the whole owns. Of definitions of one name a
 * strong one counts before weak ones, the first of these before the others, the largest of common variables;
 * two strong ones are an error. A part's own symbols, without linkage, stay apart from those of the same name
 * elsewhere. Which declarations agree, and the messages where they do not, are as NVIDIA's linker has them.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/arena.h"
#include "ptx/ptx.h"

/* A function or a variable that parts may share by its name. */
typedef struct Symbol {
    const char *name;
    const PtxModule *home;
    uint32_t order;         /* position in the order of the parts and of their texts */
    uint8_t linkage;
    bool defined;
    uint64_t size;          /* of a variable */
    void *tree;             /* PtxFunction or PtxVariable */
} Symbol;

typedef struct Link {
    PtxModule *const *parts;
    uint32_t part_count;
    PtxModule *whole;
    PtxLog *log;
} Link;

/* ---- Which definition a name means ---- */

/* For qsort(): by name, then in the order of the texts. */
static int by_name(const void *left, const void *right)
{
    const Symbol *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* What a symbol counts against others of its name, in rising order. */
typedef enum Rank { RANK_DECLARED, RANK_COMMON, RANK_WEAK, RANK_STRONG } Rank;

static Rank definition_rank(const Symbol *symbol)
{
    if (!symbol->defined) return RANK_DECLARED;
    if (symbol->linkage == PTX_LINKAGE_COMMON) return RANK_COMMON;
    return symbol->linkage == PTX_LINKAGE_WEAK ? RANK_WEAK : RANK_STRONG;
}

/* Whether `one` is the definition rather than `other`, of the same name: of common symbols, the larger. */
static bool overrides(const Symbol *one, const Symbol *other)
{
    if (definition_rank(one) != definition_rank(other)) return definition_rank(one) > definition_rank(other);
    return definition_rank(one) == RANK_COMMON && one->size > other->size;
}

/* The definition among symbols of one name; the first declaration when there is none. */
static const Symbol *choose_definition(const Link *link, const Symbol *symbols, uint32_t count)
{
    const Symbol *best = symbols;
    for (uint32_t i = 1; i < count; i++) {
        if (definition_rank(best) == RANK_STRONG && definition_rank(&symbols[i]) == RANK_STRONG)
            ptx_link_error(link->log, "Multiple definition of '%s' in '%s', first defined in '%s'",
                           symbols[i].name, symbols[i].home->name, best->home->name);
        if (overrides(&symbols[i], best)) best = &symbols[i];
    }
    return best;
}

/* Calls resolve() for each symbol with the one that its name means. Sorts the symbols. */
static void resolve_names(const Link *link, Symbol *symbols, uint32_t count,
                          void (*resolve)(const Link *link, const Symbol *symbol, const Symbol *meant))
{
    if (count) qsort(symbols, count, sizeof *symbols, by_name);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && !strcmp(symbols[i].name, symbols[next].name);) next++;
        const Symbol *meant = choose_definition(link, &symbols[i], next - i);
        for (uint32_t k = i; k < next; k++) resolve(link, &symbols[k], meant);
    }
}

/* The names of the modules that define one and other: of that which is linked later, and earlier. */
static const char *later_home(const Symbol *one, const Symbol *other)
{
    return (one->order > other->order ? one : other)->home->name;
}

static const char *earlier_home(const Symbol *one, const Symbol *other)
{
    return (one->order < other->order ? one : other)->home->name;
}

/* What two declarations of a parameter must agree in, other than its size. */
typedef enum ParameterKind { KIND_INTEGER, KIND_STRUCTURE, KIND_FLOAT } ParameterKind;

static ParameterKind kind_of(const PtxVariable *v)
{
    if (v->dim_count || v->vector > 1) return KIND_STRUCTURE;
    return ptx_types[v->type].class == PTX_FLOAT ? KIND_FLOAT : KIND_INTEGER;
}

static bool same_kinds(PtxVariable *const *left, uint32_t left_count, PtxVariable *const *right,
                       uint32_t right_count)
{
    if (left_count != right_count) return false;
    for (uint32_t i = 0; i < left_count; i++)
        if (left[i]->size != right[i]->size || kind_of(left[i]) != kind_of(right[i])) return false;
    return true;
}

/* Links a function to the one that its name means; an error if they differ. */
static void resolve_function(const Link *link, const Symbol *symbol, const Symbol *meant)
{
    PtxFunction *f = symbol->tree, *real = meant->tree;
    f->linked = real;
    if (f->is_entry != real->is_entry)
        ptx_link_error(link->log, "Function '%s' not declared __global__ in all source files", symbol->name);
    else if (!same_kinds(f->params, f->param_count, real->params, real->param_count)
             || !same_kinds(f->returns, f->return_count, real->returns, real->return_count))
        ptx_link_error(link->log, "Prototype doesn't match for '%s' in '%s', first defined in '%s'",
                       symbol->name, later_home(symbol, meant), meant->home->name);
}

/* Whether two declarations agree in their size. An array of unknown size agrees with any, and common
 * variables do with each other: the largest becomes the definition. */
static bool same_size(const PtxVariable *left, const PtxVariable *right)
{
    if (left->linkage == PTX_LINKAGE_COMMON && right->linkage == PTX_LINKAGE_COMMON) return true;
    return left->size == right->size || !left->size || !right->size;
}

/* Links a variable to the one that its name means; an error if they differ. That one gets the strictest
 * alignment of all declarations. */
static void resolve_variable(const Link *link, const Symbol *symbol, const Symbol *meant)
{
    PtxVariable *v = symbol->tree, *real = meant->tree;
    v->linked = real;
    if (v->align > real->align) real->align = v->align;
    const char *differs = NULL;
    if (v->space != real->space)
        differs = "Memory space";
    else if (!same_size(v, real))
        differs = "Size";
    if (differs)
        ptx_link_error(link->log, "%s doesn't match for '%s' in '%s', first specified in '%s'", differs,
                       symbol->name, later_home(symbol, meant), earlier_home(symbol, meant));
}

/* Lists the functions, or the variables, that parts may share; all are linked to themselves for now. Returns
 * how many. An internal function that is only declared may be another part's. */
static uint32_t collect_functions(const Link *link, Symbol *out)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < link->part_count; p++)
        for (uint32_t i = 0; i < link->parts[p]->function_count; i++) {
            PtxFunction *f = link->parts[p]->functions[i];
            bool own = f->linkage == PTX_LINKAGE_INTERNAL && f->defined;
            f->linked = f;
            if (own) continue;
            out[count] = (Symbol){.name = f->name,
                                  .home = f->home,
                                  .order = count,
                                  .linkage = f->linkage,
                                  .defined = f->defined,
                                  .tree = f};
            count++;
        }
    return count;
}

static uint32_t collect_variables(const Link *link, Symbol *out)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < link->part_count; p++)
        for (uint32_t i = 0; i < link->parts[p]->global_count; i++) {
            PtxVariable *v = link->parts[p]->globals[i];
            v->linked = v;
            if (v->linkage == PTX_LINKAGE_INTERNAL) continue;
            out[count] = (Symbol){.name = v->name,
                                  .home = v->home,
                                  .order = count,
                                  .linkage = v->linkage,
                                  .defined = v->defined,
                                  .size = v->size,
                                  .tree = v};
            count++;
        }
    return count;
}

/* ---- Redirecting uses to the definitions ---- */

static void redirect_table(PtxTable *table)
{
    for (uint32_t i = 0; table->functions && i < table->count; i++)
        table->functions[i] = table->functions[i]->linked;
}

/* The variable that one means in the whole: itself if it is a function's, or NULL if it is. */
static PtxVariable *meant_by(PtxVariable *v) { return v && v->linked ? v->linked : v; }

/* Makes an operand, and what it contains, name the definitions. */
static void redirect_operand(PtxOperand *o)
{
    switch (o->kind) {
    case PTX_OPERAND_FUNCTION: o->function = o->function->linked; break;
    case PTX_OPERAND_VARIABLE: o->variable = meant_by(o->variable); break;
    case PTX_OPERAND_TABLE: redirect_table(o->table); break;
    case PTX_OPERAND_ADDRESS:
        if (o->base == PTX_BASE_VARIABLE) o->variable = meant_by(o->variable);
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_TUPLE:
    case PTX_OPERAND_LIST:
        for (uint32_t i = 0; i < o->count; i++) redirect_operand(&o->items[i]);
        break;
    default: break;
    }
}

/* The number in the whole of a part's .file; `base`: how many files earlier parts have. 0: no such file. */
static uint32_t file_in_whole(const PtxModule *part, uint32_t base, uint32_t number)
{
    for (uint32_t i = 0; number && i < part->file_count; i++)
        if (part->files[i].number == number) return base + i + 1;
    return 0;
}

/* Makes the instructions of a function name the definitions, and the files of the whole. */
static void redirect_function(PtxFunction *f, uint32_t file_base)
{
    uint32_t from = 0, to = 0;
    if (f->alias) f->alias = f->alias->linked;
    for (uint32_t i = 0; i < f->insn_count; i++) {
        PtxInsn *insn = &f->insns[i];
        for (uint32_t k = 0; k < insn->operand_count; k++) redirect_operand(&insn->operands[k]);
        if (insn->file != from) {
            from = insn->file;
            to = file_in_whole(f->home, file_base, from);
        }
        insn->file = to;
    }
}

static void redirect_variable(PtxVariable *v)
{
    for (uint32_t r = 0; r < v->relocation_count; r++) {
        PtxRelocation *relocation = (PtxRelocation *)&v->relocations[r];
        relocation->variable = meant_by(relocation->variable);
        if (relocation->function) relocation->function = relocation->function->linked;
    }
}

static void add_forms(PtxModule *whole, const PtxModule *part)
{
    for (uint32_t i = 0; i < part->form_count; i++) {
        PtxForm *form = (PtxForm *)part->forms[i];
        form->id = whole->form_count;
        whole->forms[whole->form_count++] = form;
    }
}

/* Adds what a part defines to the whole, with new ids. A function or
 * variable whose name means another is left out. */
static void add_part(PtxModule *whole, PtxModule *part)
{
    uint32_t file_base = whole->file_count;
    add_forms(whole, part);
    for (uint32_t i = 0; i < part->global_count; i++) {
        PtxVariable *v = part->globals[i];
        if (v->linked != v) continue;
        redirect_variable(v);
        v->id = whole->global_count;
        whole->globals[whole->global_count++] = v;
    }
    for (uint32_t i = 0; i < part->function_count; i++) {
        PtxFunction *f = part->functions[i];
        if (f->linked != f) continue;
        redirect_function(f, file_base);
        f->id = whole->function_count;
        whole->functions[whole->function_count++] = f;
    }
    for (uint32_t i = 0; i < part->file_count; i++) {
        whole->files[whole->file_count] = (PtxFile){whole->file_count + 1, part->files[i].name};
        whole->file_count++;
    }
    if (part->version > whole->version) whole->version = part->version;
    if (part->target > whole->target) {
        whole->target = part->target;
        whole->target_suffix = part->target_suffix;
    }
    whole->debug |= part->debug;
}

/* ---- The whole ---- */

typedef struct Counts {
    uint32_t functions, globals, forms, files;
} Counts;

static Counts count_all(PtxModule *const *parts, uint32_t part_count)
{
    Counts counts = {0};
    for (uint32_t p = 0; p < part_count; p++) {
        counts.functions += parts[p]->function_count;
        counts.globals += parts[p]->global_count;
        counts.forms += parts[p]->form_count;
        counts.files += parts[p]->file_count;
    }
    return counts;
}

/* An empty module of sufficient capacity; NULL if out of memory. */
static PtxModule *new_whole(const Counts *counts, uint32_t part_count)
{
    Arena *arena = calloc(1, sizeof *arena);
    PtxModule *whole = arena ? arena_zeros(arena, 1, sizeof *whole) : NULL;
    if (!whole) {
        free(arena);
        return NULL;
    }
    whole->arena = arena;
    whole->name = "the linked module";
    whole->address_size = 64;
    whole->functions = arena_zeros(arena, counts->functions + 1, sizeof *whole->functions);
    whole->globals = arena_zeros(arena, counts->globals + 1, sizeof *whole->globals);
    whole->forms = arena_zeros(arena, counts->forms + 1, sizeof *whole->forms);
    whole->files = arena_zeros(arena, counts->files + 1, sizeof *whole->files);
    whole->parts = arena_zeros(arena, part_count + 1, sizeof *whole->parts);
    if (whole->functions && whole->globals && whole->forms && whole->files && whole->parts) return whole;
    ptx_module_free(whole);
    return NULL;
}

static void report_out_of_memory(PtxModule *const *parts, PtxLog *log)
{
    ptx_report(parts[0], log, PTX_OUT_OF_MEMORY, 0, 0, "out of memory while linking");
}

/* Links every function and variable to what its name means. Disagreements are
 * errors in the log; false: out of memory. */
static bool resolve_all(const Link *link, const Counts *counts)
{
    uint32_t max = counts->functions > counts->globals ? counts->functions : counts->globals;
    Symbol *symbols = calloc(max + 1, sizeof *symbols);
    if (!symbols) return false;
    resolve_names(link, symbols, collect_functions(link, symbols), resolve_function);
    resolve_names(link, symbols, collect_variables(link, symbols), resolve_variable);
    free(symbols);
    return true;
}

bool ptx_link_fits(PtxModule *const *parts, uint32_t count, PtxLog *log)
{
    Counts counts = count_all(parts, count);
    Link link = {parts, count, NULL, log};
    if (!resolve_all(&link, &counts)) report_out_of_memory(parts, log);
    return !log->errors;
}

PtxModule *ptx_link(PtxModule *const *parts, uint32_t count, PtxLog *log)
{
    Counts counts = count_all(parts, count);
    PtxModule *whole = new_whole(&counts, count);
    Link link = {parts, count, whole, log};
    if (!whole || !resolve_all(&link, &counts)) {
        ptx_module_free(whole);
        report_out_of_memory(parts, log);
        return NULL;
    }
    if (log->errors) {
        ptx_module_free(whole);
        return NULL;
    }
    for (uint32_t p = 0; p < count; p++) {
        add_part(whole, parts[p]);
        whole->parts[whole->part_count++] = parts[p];
    }
    return whole;
}
