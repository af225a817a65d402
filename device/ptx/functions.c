/* Entries and functions: signature, performance directives, body. */
#include <string.h>

#include "ptx/parser.h"

static uint32_t ptx_positive(PtxParser *p, const char *what)
{
    uint32_t line = p->tok.line, column = p->tok.column, number = ptx_number(p, what, UINT32_MAX);
    if (!number) ptx_fail(p, line, column, "%s: must be at least 1", what);
    return number;
}

/* numbers = number ("," number)* , at most three; those not given are 1 */
static void ptx_three_numbers(PtxParser *p, uint32_t *values)
{
    values[0] = values[1] = values[2] = 1;
    for (int i = 0; i < 3; i++) {
        values[i] = ptx_positive(p, "number of threads or blocks");
        if (i == 2 || !ptx_accept(p, ',')) return;
    }
}

void ptx_skip_abi_preserve(PtxParser *p)
{
    if (p->module->version < 90)
        ptx_fail(p, p->tok.line, p->tok.column, "'.%s' needs .version 9.0 or higher, not %d.%d",
                 p->tok.name->text, p->module->version / 10, p->module->version % 10);
    ptx_next(p);
    ptx_number(p, "how many registers", UINT32_MAX);
}

static void ptx_skip_parentheses(PtxParser *p)
{
    ptx_expect(p, '(');
    for (uint32_t depth = 1; depth; ptx_next(p)) {
        if (p->tok.kind == PTX_TOKEN_END) ptx_fail_expected(p, "')'");
        depth += ptx_is(p, '(');
        depth -= ptx_is(p, ')');
    }
}

/* Whether the token is a directive of the function in work. Any other one starts the next declaration. */
static bool ptx_is_performance(const PtxParser *p)
{
    static const uint8_t directives[] = {
        PTX_DIRECTIVE_maxntid,        PTX_DIRECTIVE_reqntid,         PTX_DIRECTIVE_reqnctapercluster,
        PTX_DIRECTIVE_minnctapersm,   PTX_DIRECTIVE_maxnctapersm,    PTX_DIRECTIVE_maxnreg,
        PTX_DIRECTIVE_maxclusterrank, PTX_DIRECTIVE_explicitcluster, PTX_DIRECTIVE_blocksareclusters,
        PTX_DIRECTIVE_noreturn,       PTX_DIRECTIVE_abi_preserve,    PTX_DIRECTIVE_abi_preserve_control,
        PTX_DIRECTIVE_attribute,      PTX_DIRECTIVE_pragma};
    bool found = false;
    for (size_t i = 0; i < sizeof directives; i++) found |= ptx_is_directive(p, directives[i]);
    return found;
}

/* performance = ".maxntid" numbers | ".minnctapersm" number | ".noreturn" | ".pragma" strings ";" | ... */
static void ptx_performance(PtxParser *p, PtxFunction *f)
{
    PtxDirective directive = (PtxDirective)p->tok.name->directive;
    uint32_t line = p->tok.line, column = p->tok.column;
    const char *text = p->tok.name->text;
    bool of_both = directive == PTX_DIRECTIVE_pragma || directive == PTX_DIRECTIVE_attribute;
    bool of_function = directive == PTX_DIRECTIVE_noreturn || directive == PTX_DIRECTIVE_abi_preserve
                       || directive == PTX_DIRECTIVE_abi_preserve_control;
    if (!of_both && of_function == f->is_entry)
        ptx_fail(p, line, column, "'.%s' is not a directive of %s", text,
                 f->is_entry ? "an entry" : "a .func");
    if (directive == PTX_DIRECTIVE_abi_preserve || directive == PTX_DIRECTIVE_abi_preserve_control) {
        ptx_skip_abi_preserve(p);
        return;
    }
    ptx_next(p);
    switch (directive) {
    case PTX_DIRECTIVE_maxntid: ptx_three_numbers(p, f->maxntid); return;
    case PTX_DIRECTIVE_reqntid: ptx_three_numbers(p, f->reqntid); return;
    case PTX_DIRECTIVE_reqnctapercluster: ptx_three_numbers(p, f->reqnctapercluster); return;
    case PTX_DIRECTIVE_minnctapersm: f->minnctapersm = ptx_positive(p, ".minnctapersm"); return;
    case PTX_DIRECTIVE_maxnctapersm: f->maxnctapersm = ptx_number(p, ".maxnctapersm", UINT32_MAX); return;
    case PTX_DIRECTIVE_maxnreg: f->maxnreg = ptx_positive(p, ".maxnreg"); return;
    case PTX_DIRECTIVE_maxclusterrank:
        f->maxclusterrank = ptx_number(p, ".maxclusterrank", UINT32_MAX);
        return;
    case PTX_DIRECTIVE_explicitcluster: f->explicitcluster = true; return;
    case PTX_DIRECTIVE_blocksareclusters: f->blocks_are_clusters = true; return;
    case PTX_DIRECTIVE_noreturn: f->noreturn = true; return;
    case PTX_DIRECTIVE_attribute: ptx_skip_parentheses(p); return;
    case PTX_DIRECTIVE_pragma: ptx_skip_to_semicolon(p); return;
    default: ptx_fail(p, line, column, "'.%s' is not a directive of a function", text);
    }
}

/* The function of a name: a new one, or the one declared before. */
static PtxFunction *ptx_find_function(PtxParser *p, PtxName *name, const PtxToken *tok, bool is_entry)
{
    PtxSymbol *symbol = name->symbol;
    if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION) {
        if (symbol->function->is_entry != is_entry)
            ptx_fail(p, tok->line, tok->column, "'%s' is declared differently on line %u", name->text,
                     (unsigned)symbol->function->line);
        return symbol->function;
    }
    PtxFunction *f = ptx_new(p, sizeof *f);
    *f = (PtxFunction){.name = name->text,
                       .id = p->functions.count,
                       .is_entry = is_entry,
                       .line = tok->line,
                       .column = tok->column};
    ptx_declare(p, PTX_SYMBOL_FUNCTION, name, tok->line, tok->column)->function = f;
    *(PtxFunction **)ptx_push(p, &p->functions, sizeof f) = f;
    return f;
}

/* The registers of a vector get consecutive numbers. An entry's parameter _ is not declared. */
void ptx_bind_parameter(PtxParser *p, PtxVariable *variable)
{
    PtxName *name = ptx_intern(p, variable->name, strlen(variable->name));
    if (name == p->sink) return;
    variable->function = p->function;
    if (variable->space != PTX_SPACE_REG) {
        ptx_declare(p, PTX_SYMBOL_VARIABLE, name, variable->line, variable->column)->variable = variable;
        return;
    }
    uint32_t vector, count = variable->vector;
    PtxSymbol *symbol = ptx_declare(p, count > 1 ? PTX_SYMBOL_REGISTERS : PTX_SYMBOL_REGISTER, name,
                                    variable->line, variable->column);
    symbol->type = variable->type;
    symbol->vector = (uint8_t)count;
    symbol->count = 1;
    if (count > 1) symbol->regs = ptx_new(p, (count + 1) * sizeof *symbol->regs);
    if (ptx_types[variable->type].register_kind == PTX_KIND_NONE || variable->dim_count)
        ptx_fail(p, variable->line, variable->column, "no register is of this type");
    variable->reg = ptx_find_register(p, name, 0, &vector);
    for (uint32_t part = 1; part < count; part++) ptx_find_register(p, name, part, &vector);
}

/* The limit on the size of an entry's parameters, reported in ptxas's words. */
static void ptx_check_parameter_space(PtxParser *p, const PtxFunction *f, const PtxToken *tok)
{
    enum { MAX_PARAM_BYTES = 0x7ffc, MAX_PARAM_BYTES_BEFORE_8_1 = 0x1100 };
    const PtxModule *m = p->module;
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->param_count; i++) {
        uint64_t align = f->params[i]->align ? f->params[i]->align : 1;
        size = (size + align - 1) / align * align + f->params[i]->size;
    }
    if (size <= MAX_PARAM_BYTES_BEFORE_8_1) return;
    unsigned max = m->version < 81 ? MAX_PARAM_BYTES_BEFORE_8_1 : MAX_PARAM_BYTES;
    if (size > max)
        ptx_fail(p, tok->line, tok->column,
                 "Entry function '%s' uses too much parameter space (0x%llx bytes, 0x%x max)%s", f->name,
                 (unsigned long long)size, max,
                 max == MAX_PARAM_BYTES ? "" : "; more than 4352 bytes need PTX ISA .version 8.1 or later");
    if (m->target < 70)
        ptx_fail(p, tok->line, tok->column,
                 "Feature 'Kernel parameter size larger than 4352 bytes' requires .target sm_70 or higher");
}

/* Reads the body of a function; `tok` is its name. */
static void ptx_define(PtxParser *p, PtxFunction *f, const PtxToken *tok)
{
    if (f->defined)
        ptx_fail(p, tok->line, tok->column, "'%s' is already defined on line %u", f->name, (unsigned)f->line);
    f->defined = true;
    f->line = tok->line;
    f->column = tok->column;
    p->function = f;
    p->declared = 0;
    if (f->is_entry) ptx_open_thread_registers(p);
    p->body_depth = p->scopes.count;
    ptx_open_scope(p);
    for (uint32_t i = 0; i < f->return_count; i++) ptx_bind_parameter(p, f->returns[i]);
    for (uint32_t i = 0; i < f->param_count; i++) ptx_bind_parameter(p, f->params[i]);
    ptx_body(p);
    if (p->body_depth) ptx_close_scope(p);
    p->function = NULL;
    if (f->is_entry) ptx_check_parameter_space(p, f, tok);
}

typedef struct PtxParams {
    PtxVariable **items;
    uint32_t count;
} PtxParams;

/* Fails unless a parameter is as it was in an earlier declaration. */
static void ptx_same_parameter(PtxParser *p, const PtxVariable *now, const PtxVariable *then)
{
    if (now->type != then->type || now->space != then->space || now->size != then->size
        || now->align != then->align)
        ptx_fail(p, now->line, now->column, "'%s' is declared differently on line %u", now->name,
                 (unsigned)then->line);
}

/* Sets the results and parameters of a function; `tok` is its name. If it was declared before, both must be
 * as they were then. Those that its body uses stay. */
static void ptx_set_parameters(PtxParser *p, PtxFunction *f, PtxParams returns, PtxParams params,
                               const PtxToken *tok, bool declared)
{
    if (declared && (f->return_count != returns.count || f->param_count != params.count))
        ptx_fail(p, tok->line, tok->column, "'%s' is declared with other parameters on line %u", f->name,
                 (unsigned)f->line);
    for (uint32_t i = 0; declared && i < params.count; i++)
        ptx_same_parameter(p, params.items[i], f->params[i]);
    for (uint32_t i = 0; declared && i < returns.count; i++)
        ptx_same_parameter(p, returns.items[i], f->returns[i]);
    if (f->defined) return;
    f->returns = returns.items;
    f->return_count = returns.count;
    f->params = params.items;
    f->param_count = params.count;
}

/* function = (".entry" name | ".func" attribute? parameters? name) parameters? performance* (body | ";")
 *
 * A .func without a body is a declaration whether or not the semicolon is there. */
void ptx_function(PtxParser *p, PtxLinkage linkage)
{
    bool is_entry = ptx_is_directive(p, PTX_DIRECTIVE_entry), noreturn = false;
    PtxParams returns = {0}, params = {0};
    p->operands.count = 0;
    ptx_next(p);
    for (; !is_entry && p->tok.kind == PTX_TOKEN_DIRECTIVE;) {
        if (ptx_accept_directive(p, PTX_DIRECTIVE_attribute))
            ptx_skip_parentheses(p);
        else if (ptx_accept_directive(p, PTX_DIRECTIVE_noreturn))
            noreturn = true;
        else
            ptx_fail_expected(p, "a function's name");
    }
    if (!is_entry && ptx_is(p, '(')) returns.items = ptx_parameter_list(p, false, false, &returns.count);
    PtxToken tok = p->tok;
    PtxName *name = ptx_expect_name(p, "a function's name");
    bool declared = name->symbol != NULL;
    PtxFunction *f = ptx_find_function(p, name, &tok, is_entry);
    if (ptx_is(p, '(')) params.items = ptx_parameter_list(p, is_entry, false, &params.count);
    ptx_set_parameters(p, f, returns, params, &tok, declared);
    f->noreturn |= noreturn;
    if (!declared || linkage != PTX_LINKAGE_EXTERN) f->linkage = (uint8_t)linkage;
    while (ptx_is_performance(p)) ptx_performance(p, f);
    if (f->maxntid[0] && f->reqntid[0])
        ptx_fail(p, tok.line, tok.column, "'%s' has both .maxntid and .reqntid", f->name);
    if (is_entry) ptx_check_parameter_space(p, f, &tok);
    if (ptx_accept(p, ';') || (!is_entry && !ptx_is(p, '{'))) return;
    if (linkage == PTX_LINKAGE_EXTERN)
        ptx_fail(p, tok.line, tok.column, "an .extern function has no body here");
    ptx_define(p, f, &tok);
}

/* alias = ".alias" name "," name ";" */
void ptx_alias(PtxParser *p)
{
    PtxFunction *both[2]; /* the alias, and the function that it stands for */
    PtxToken tok[2];
    for (int i = 0; i < 2; i++) {
        tok[i] = p->tok;
        PtxName *name = ptx_expect_name(p, "a function's name");
        if (!name->symbol || name->symbol->kind != PTX_SYMBOL_FUNCTION)
            ptx_fail(p, tok[i].line, tok[i].column, "function '%s' is not declared", name->text);
        both[i] = name->symbol->function;
        ptx_expect(p, i ? ';' : ',');
    }
    if (both[0]->defined || both[0]->is_entry || both[1]->is_entry || !both[1]->defined || both[1]->alias)
        ptx_fail(p, tok[0].line, tok[0].column, "an alias joins a declared function to a defined one");
    both[0]->alias = both[1];
    both[0]->defined = true;
}
