/* Names that a linked module uses and no part of it defines. As NVIDIA's linker does, this
 * pass checks the functions that kernels reach and the initializers of all variables.
 * `home` is the module whose text has the use. */
#include "lower/module.h"

typedef struct UndefinedSearch {
    Lower *lower;
    bool *reported_functions, *reported_variables; /* by id */
} UndefinedSearch;

static void report_undefined(const UndefinedSearch *s, bool *reported, const char *name,
                             const PtxModule *home)
{
    if (*reported) return;
    *reported = true;
    ptx_link_error(s->lower->log, "Undefined reference to '%s' in '%s'", name, home->name);
}

static void check_function(const UndefinedSearch *s, const PtxFunction *f, const PtxModule *home)
{
    if (!s->lower->functions[f->id].code && !lower_is_provided(f->name))
        report_undefined(s, &s->reported_functions[f->id], f->name, home);
}

/* Only variables of module scope in memory can be undefined: an extern array of
 * shared memory gets its size from the launch. */
static void check_variable(const UndefinedSearch *s, const PtxVariable *v, const PtxModule *home)
{
    if (!v->defined && !v->function && (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST))
        report_undefined(s, &s->reported_variables[v->id], v->name, home);
}

/* Reports undefined names in an operand, and in what it contains. */
static void check_operand(const UndefinedSearch *s, const PtxOperand *o, const PtxModule *home)
{
    switch (o->kind) {
    case PTX_OPERAND_FUNCTION: check_function(s, o->function, home); break;
    case PTX_OPERAND_TABLE:
        for (uint32_t i = 0; o->table->functions && i < o->table->count; i++)
            check_function(s, o->table->functions[i], home);
        break;
    case PTX_OPERAND_VARIABLE: check_variable(s, o->variable, home); break;
    case PTX_OPERAND_ADDRESS:
        if (o->base == PTX_BASE_VARIABLE) check_variable(s, o->variable, home);
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_TUPLE:
    case PTX_OPERAND_LIST:
        for (uint32_t i = 0; i < o->count; i++) check_operand(s, &o->items[i], home);
        break;
    default: break;
    }
}

static void check_body(const UndefinedSearch *s, const PtxFunction *f)
{
    for (uint32_t n = 0; n < f->insn_count; n++)
        for (uint32_t k = 0; k < f->insns[n].operand_count; k++)
            check_operand(s, &f->insns[n].operands[k], f->home);
}

static void check_initializer(const UndefinedSearch *s, const PtxVariable *v)
{
    for (uint32_t r = 0; r < v->relocation_count; r++) {
        const PtxRelocation *relocation = &v->relocations[r];
        if (relocation->function)
            check_function(s, relocation->function, v->home);
        else
            check_variable(s, relocation->variable, v->home);
    }
}

void lower_undefined(Lower *lower)
{
    const PtxModule *tree = lower->tree;
    UndefinedSearch s = {.lower = lower,
                         .reported_functions = ARENA_ZEROS(&lower->scratch, bool, tree->function_count),
                         .reported_variables = ARENA_ZEROS(&lower->scratch, bool, tree->global_count)};
    for (uint32_t i = 0; i < tree->function_count; i++)
        if (lower_reached(lower, i)) check_body(&s, tree->functions[i]);
    for (uint32_t i = 0; i < tree->global_count; i++) check_initializer(&s, tree->globals[i]);
}
