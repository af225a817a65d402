/* Declarations of registers, and of variables and parameters: space, alignment, type, dimensions,
 * initializer. */
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

enum { MAX_BANK = 10, MAX_VECTOR = 4, MAX_VECTOR_BITS = 128 };

static bool ptx_is_word(const PtxParser *p, PtxWordKind kind)
{
    return p->tok.kind == PTX_TOKEN_DIRECTIVE && p->tok.name->word_kind == kind;
}

bool ptx_is_space(const PtxParser *p)
{
    return ptx_is_word(p, PTX_WORD_SPACE) && p->tok.name->word != PTX_SPACE_REG
           && p->tok.name->word != PTX_SPACE_SREG;
}

PtxType ptx_type_directive(PtxParser *p)
{
    if (!ptx_is_word(p, PTX_WORD_TYPE)) ptx_fail_expected(p, "a type");
    PtxType type = (PtxType)p->tok.name->word;
    ptx_next(p);
    return type;
}

/* name = register | prefix "<" count ">" ; `vector`: how many registers a name stands for */
static void ptx_register_name(PtxParser *p, PtxType type, uint32_t vector)
{
    PtxToken tok = p->tok;
    PtxName *name = ptx_expect_name(p, "a register's name");
    uint64_t count = 1;
    bool is_range = ptx_accept(p, '<');
    if (is_range) {
        count = ptx_plain_integer(p, "how many registers");
        ptx_expect(p, '>');
    }
    if (count * vector > PTX_MAX_REGISTERS - p->declared)
        ptx_fail(p, tok.line, tok.column, "more than %u registers", PTX_MAX_REGISTERS);
    p->declared += (uint32_t)(count * vector);
    PtxSymbol *symbol = is_range ? ptx_declare_range(p, name, tok.line, tok.column)
                                 : ptx_declare(p, vector > 1 ? PTX_SYMBOL_REGISTERS : PTX_SYMBOL_REGISTER,
                                               name, tok.line, tok.column);
    symbol->type = (uint8_t)type;
    symbol->vector = (uint8_t)vector;
    symbol->count = (uint32_t)count;
    /* One more than needed, since a range may be empty. */
    if (is_range || vector > 1) symbol->regs = ptx_new(p, (count * vector + 1) * sizeof *symbol->regs);
}

/* registers = ".reg" vector? type name ("," name)* ";" */
void ptx_register_declaration(PtxParser *p)
{
    uint32_t vector = 1, line = p->tok.line, column;
    ptx_next(p);
    if (ptx_is_word(p, PTX_WORD_VECTOR)) {
        vector = p->tok.name->word;
        ptx_next(p);
    }
    column = p->tok.column;
    PtxType type = ptx_type_directive(p);
    if (ptx_types[type].register_kind == PTX_KIND_NONE || (type == PTX_pred && vector > 1))
        ptx_fail(p, line, column, "no register is of type .%s", ptx_types[type].name);
    if (vector > MAX_VECTOR || vector * ptx_type_bits(type) > MAX_VECTOR_BITS)
        ptx_fail(p, line, column, "a vector must have at most four elements and 16 bytes");
    do ptx_register_name(p, type, vector);
    while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

/* Where a token begins, to read the text from there again. */
typedef struct PtxPlace {
    const char *at, *line_start;
    uint32_t line;
} PtxPlace;

static PtxPlace ptx_here(const PtxParser *p) { return (PtxPlace){p->tok.start, p->line_start, p->line}; }

/* Makes the token at a place the current one. */
static void ptx_go_to(PtxParser *p, PtxPlace place)
{
    p->at = place.at;
    p->line_start = place.line_start;
    p->line = place.line;
    ptx_next(p);
}

void ptx_note_thread_registers(PtxParser *p)
{
    *(PtxPlace *)ptx_push(p, &p->thread_registers, sizeof(PtxPlace)) = ptx_here(p);
    while (!ptx_accept(p, ';')) {
        if (p->tok.kind == PTX_TOKEN_END) ptx_fail_expected(p, "';'");
        ptx_next(p);
    }
}

void ptx_open_thread_registers(PtxParser *p)
{
    const PtxPlace *places = p->thread_registers.items;
    if (!p->thread_registers.count) return;
    PtxPlace here = ptx_here(p);
    ptx_open_scope(p);
    for (uint32_t i = 0; i < p->thread_registers.count; i++) {
        ptx_go_to(p, places[i]);
        ptx_register_declaration(p);
    }
    ptx_go_to(p, here);
}

uint32_t ptx_number(PtxParser *p, const char *what, uint64_t max)
{
    uint32_t line = p->tok.line, column = p->tok.column;
    int64_t value = ptx_constant_integer(p);
    if (value < 0 || (uint64_t)value > max)
        ptx_fail(p, line, column, "%s: a number from 0 to %llu", what, (unsigned long long)max);
    return (uint32_t)value;
}

static uint32_t ptx_alignment(PtxParser *p)
{
    uint32_t line = p->tok.line, column = p->tok.column, align = ptx_number(p, "alignment", 1u << 30);
    if (!align || align & (align - 1)) ptx_fail(p, line, column, "an alignment must be a power of two");
    return align;
}

/* attribute = ".attribute" "(" ".managed" | ".unified" "(" number "," number ")" ("," ...)* ")" */
static void ptx_attribute(PtxParser *p, PtxVariable *variable)
{
    ptx_expect(p, '(');
    do {
        if (ptx_accept_directive(p, PTX_DIRECTIVE_managed)) {
            variable->managed = true;
        } else if (ptx_accept_directive(p, PTX_DIRECTIVE_unified)) {
            ptx_expect(p, '(');
            ptx_constant_integer(p);
            ptx_expect(p, ',');
            ptx_constant_integer(p);
            ptx_expect(p, ')');
        } else {
            ptx_fail_expected(p, "an attribute");
        }
    } while (ptx_accept(p, ','));
    ptx_expect(p, ')');
}

/* pointer = ".ptr" space? (".align" number)? */
static void ptx_pointer(PtxParser *p, PtxVariable *variable)
{
    variable->is_pointer = true;
    if (ptx_is_word(p, PTX_WORD_SPACE)) {
        variable->pointer_space = (uint8_t)p->tok.name->word;
        ptx_next(p);
    }
    if (ptx_accept_directive(p, PTX_DIRECTIVE_align)) variable->pointer_align = ptx_alignment(p);
}

/* qualifiers = (".align" number | attribute | vector | type | pointer)* up to the name */
static void ptx_qualifiers(PtxParser *p, PtxVariable *variable)
{
    uint32_t line = p->tok.line, column = p->tok.column;
    variable->vector = 1;
    while (p->tok.kind == PTX_TOKEN_DIRECTIVE) {
        if (ptx_accept_directive(p, PTX_DIRECTIVE_align))
            variable->align = ptx_alignment(p);
        else if (ptx_accept_directive(p, PTX_DIRECTIVE_attribute))
            ptx_attribute(p, variable);
        else if (ptx_accept_directive(p, PTX_DIRECTIVE_ptr))
            ptx_pointer(p, variable);
        else if (ptx_is_word(p, PTX_WORD_VECTOR)) {
            variable->vector = (uint8_t)p->tok.name->word;
            ptx_next(p);
        } else if (variable->type == PTX_TYPE_NONE)
            variable->type = (uint8_t)ptx_type_directive(p);
        else
            ptx_fail(p, p->tok.line, p->tok.column, "'.%s' does not belong to a declaration",
                     p->tok.name->text);
    }
    if (variable->type == PTX_TYPE_NONE) ptx_fail(p, line, column, "declaration without a type");
    const PtxTypeInfo *info = &ptx_types[variable->type];
    if (variable->type == PTX_pred || (info->register_kind == PTX_KIND_NONE && info->class != PTX_OPAQUE))
        ptx_fail(p, line, column, "no variable is of type .%s", info->name);
    if (variable->vector > MAX_VECTOR || variable->vector * info->bits > MAX_VECTOR_BITS)
        ptx_fail(p, line, column, "a vector must have at most four elements and 16 bytes");
}

/* size = integer | "WARP_SZ" */
static uint64_t ptx_dimension(PtxParser *p)
{
    if (p->tok.kind == PTX_TOKEN_NAME && p->tok.name == p->warp_size) {
        ptx_next(p);
        return PTX_WARP_SIZE;
    }
    if (p->tok.kind != PTX_TOKEN_INTEGER) ptx_fail_expected(p, "a number of elements");
    uint64_t count = p->tok.bits;
    ptx_next(p);
    return count;
}

/* dimensions = ("[" size? "]")* ; only the first may be left open, or 0, which means the same */
static void ptx_dimensions(PtxParser *p, PtxVariable *variable)
{
    uint64_t size = ptx_type_bytes((PtxType)variable->type) * (uint64_t)variable->vector;
    if (!variable->align) variable->align = (uint32_t)size;
    while (ptx_accept(p, '[')) {
        uint32_t line = p->tok.line, column = p->tok.column;
        if (variable->dim_count == PTX_MAX_DIMS)
            ptx_fail(p, line, column, "more than %d dimensions", PTX_MAX_DIMS);
        uint64_t count = ptx_is(p, ']') ? 0 : ptx_dimension(p);
        bool open = count == 0 && variable->dim_count == 0;
        if ((count == 0 && !open) || count > PTX_MAX_SIZE)
            ptx_fail(p, line, column, "a dimension must be a positive number");
        if (!open && size > PTX_MAX_SIZE / count) ptx_fail(p, line, column, "array too large");
        variable->dims[variable->dim_count++] = count;
        if (!open) size *= count;
        ptx_expect(p, ']');
    }
    variable->size = variable->dim_count && !variable->dims[0] ? 0 : size;
}

/* A variable whose name was declared before at module scope. A definition overwrites a
 * declaration in place, since operands point to it, and the result is that one. A repeated
 * declaration, and a second definition of a .weak or .common variable, count for nothing: the
 * result is then the new variable, which is in no list. */
static PtxVariable *ptx_redeclared(PtxParser *p, PtxVariable *variable, const PtxSymbol *symbol)
{
    PtxVariable *old = symbol->variable;
    if (old->space != variable->space || old->type != variable->type || old->vector != variable->vector)
        ptx_fail(p, variable->line, variable->column, "'%s' is declared differently on line %u",
                 variable->name, (unsigned)old->line);
    bool both = old->defined && variable->linkage != PTX_LINKAGE_EXTERN;
    if (both && old->linkage != PTX_LINKAGE_COMMON && old->linkage != PTX_LINKAGE_WEAK)
        ptx_fail(p, variable->line, variable->column, "'%s' is already defined on line %u", variable->name,
                 (unsigned)old->line);
    if (variable->linkage == PTX_LINKAGE_EXTERN || both) return variable;
    variable->id = old->id;
    *old = *variable;
    return old;
}

/* Whether a variable that a body declares belongs to the module, as static ones of C do: .global or
 * .const. */
static bool ptx_is_static(const PtxVariable *variable)
{
    return variable->space == PTX_SPACE_GLOBAL || variable->space == PTX_SPACE_CONST;
}

/* Moves a variable of the function in work to the module, under a name of its own. */
static void ptx_make_static(PtxParser *p, PtxVariable *variable)
{
    char name[256];
    int length = snprintf(name, sizeof name, "$__%.180s__%u", variable->name, (unsigned)p->globals.count);
    if (ptx_types[variable->type].class == PTX_OPAQUE)
        ptx_fail(p, variable->line, variable->column, "textures and surfaces are declared outside functions");
    variable->name = ptx_intern(p, name, (size_t)length)->text;
    variable->function = NULL;
}

/* Adds a variable to the scope and to the function's list or the module's. Returns the variable that the name
 * means from now on, or the new one if it counts for nothing: see ptx_redeclared(). */
static PtxVariable *ptx_declare_variable(PtxParser *p, PtxName *name, PtxVariable *variable)
{
    PtxSymbol *symbol = name->symbol;
    if (!p->function && symbol && symbol->kind == PTX_SYMBOL_VARIABLE)
        return ptx_redeclared(p, variable, symbol);
    ptx_declare(p, PTX_SYMBOL_VARIABLE, name, variable->line, variable->column)->variable = variable;
    PtxVector *list = p->function && !ptx_is_static(variable) ? &p->variables : &p->globals;
    variable->id = list->count;
    *(PtxVariable **)ptx_push(p, list, sizeof variable) = variable;
    return variable;
}

/* Skips the initializer of a texture or sampler, which describes modes and no memory. */
static void ptx_skip_braces(PtxParser *p)
{
    uint32_t depth = 0;
    do {
        if (p->tok.kind == PTX_TOKEN_END) ptx_fail_expected(p, "'}'");
        depth += ptx_is(p, '{');
        depth -= ptx_is(p, '}') && depth;
        ptx_next(p);
    } while (depth);
}

/* Refuses samplers, and references as parameters of an entry: ptxas accepts them, but
 * NVIDIA's driver loads no module that has them. */
static void ptx_check_reference(PtxParser *p, const PtxVariable *variable, bool is_entry_parameter)
{
    bool opaque = ptx_types[variable->type].class == PTX_OPAQUE;
    if (variable->type == PTX_samplerref)
        ptx_fail(
            p, variable->line, variable->column,
            "samplers apart from textures (.samplerref) are not supported by CUDA's drivers: a texture has "
            "its own");
    if (opaque && is_entry_parameter)
        ptx_fail(p, variable->line, variable->column,
                 "references as parameters of an entry are not supported by CUDA's drivers: a .u64 takes the "
                 "handle of an object");
}

/* Whether .param variables of the body in work are the kernel's parameters: those of PTX before 1.4 had no
 * other place. */
static bool ptx_declares_parameters(const PtxParser *p)
{
    return p->function && p->function->is_entry && p->module->version < 14;
}

/* Adds a parameter that a kernel's body declares. */
static void ptx_add_parameter(PtxParser *p, PtxVariable *variable)
{
    PtxFunction *f = p->function;
    PtxVariable **all = ptx_new(p, (f->param_count + 1) * sizeof(PtxVariable *));
    if (f->param_count) memcpy(all, f->params, f->param_count * sizeof(PtxVariable *));
    all[f->param_count++] = variable;
    f->params = all;
    ptx_bind_parameter(p, variable);
}

/* Makes a variable of .tex, which before PTX 1.5 were the references to textures, one of these. */
static void ptx_make_reference(PtxParser *p, PtxVariable *variable)
{
    if (p->module->version >= 15)
        ptx_fail(p, variable->line, variable->column, ".tex is of PTX before 1.5: this is '.global .texref'");
    if ((variable->type != PTX_u32 && variable->type != PTX_u64) || variable->vector > 1 || p->function)
        ptx_fail(p, variable->line, variable->column,
                 "a variable in .tex is a single .u32 or .u64 outside of functions");
    variable->space = PTX_SPACE_GLOBAL;
    variable->type = PTX_texref;
    variable->align = 0;
}

/* name dimensions initializer? ; `qualifiers` is a variable with what the statement says before the name */
static void ptx_one_variable(PtxParser *p, const PtxVariable *qualifiers)
{
    PtxVariable *variable = ptx_new(p, sizeof *variable);
    *variable = *qualifiers;
    variable->line = p->tok.line;
    variable->column = p->tok.column;
    PtxName *name = ptx_expect_name(p, "a variable's name");
    ptx_check_reference(p, variable, false);
    if (variable->space == PTX_SPACE_TEX) ptx_make_reference(p, variable);
    variable->name = name->text;
    variable->function = p->function;
    variable->defined = variable->linkage != PTX_LINKAGE_EXTERN;
    if (p->function && ptx_is_static(variable)) ptx_make_static(p, variable);
    ptx_dimensions(p, variable);
    bool open = variable->dim_count && !variable->dims[0], initialized = ptx_is(p, '=');
    if (open && !initialized && variable->defined && variable->space != PTX_SPACE_PARAM)
        ptx_fail(p, variable->line, variable->column, "'%s' needs a size or an initializer", name->text);
    if (variable->space == PTX_SPACE_PARAM && ptx_declares_parameters(p)) {
        ptx_add_parameter(p, variable);
        return;
    }
    variable = ptx_declare_variable(p, name, variable);
    if (!ptx_accept(p, '=')) return;
    if (variable->space == PTX_SPACE_LOCAL && !p->function)
        ptx_fail(p, variable->line, variable->column, "a variable in .local has no initial value");
    if (!variable->defined)
        ptx_fail(p, variable->line, variable->column, "an .extern variable cannot be initialized");
    if (ptx_types[variable->type].class == PTX_OPAQUE)
        ptx_skip_braces(p);
    else
        ptx_initializer(p, variable);
}

/* Before PTX 3.0 a thread had memory and registers that all functions shared, outside of any stack. */
bool ptx_has_thread_variables(const PtxParser *p) { return !p->function && p->module->version < 30; }

static bool ptx_space_allowed(const PtxParser *p, PtxSpace space)
{
    if (space == PTX_SPACE_LOCAL && ptx_has_thread_variables(p)) return true;
    if (space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM) return p->function != NULL;
    return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST || space == PTX_SPACE_SHARED
           || space == PTX_SPACE_TEX;
}

/* variable = space ("[" bank "]")? qualifiers name dimensions initializer? ("," ...)* ";" */
void ptx_variable_statement(PtxParser *p, PtxLinkage linkage)
{
    PtxVariable qualifiers = {.space = (uint8_t)p->tok.name->word, .linkage = (uint8_t)linkage};
    if (!ptx_space_allowed(p, (PtxSpace)qualifiers.space))
        ptx_fail(p, p->tok.line, p->tok.column, "no variable is declared in .%s here", p->tok.name->text);
    ptx_next(p);
    if (ptx_accept(p, '[')) {
        qualifiers.bank = (uint8_t)ptx_number(p, "bank", MAX_BANK);
        ptx_expect(p, ']');
    }
    uint32_t line = p->tok.line, column = p->tok.column;
    ptx_qualifiers(p, &qualifiers);
    bool global = qualifiers.space == PTX_SPACE_GLOBAL,
         opaque = ptx_types[qualifiers.type].class == PTX_OPAQUE;
    if (!global && ((opaque && qualifiers.space != PTX_SPACE_PARAM) || qualifiers.managed))
        ptx_fail(p, line, column, "this type of variable is declared in .global");
    do ptx_one_variable(p, &qualifiers);
    while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

/* parameter = (".param" | ".reg") qualifiers name dimensions */
PtxVariable *ptx_parameter(PtxParser *p, bool is_entry, bool may_be_unnamed)
{
    PtxVariable *variable = ptx_new(p, sizeof *variable);
    bool is_register = !is_entry && ptx_is_directive(p, PTX_DIRECTIVE_reg);
    variable->line = p->tok.line;
    variable->column = p->tok.column;
    if (!is_register && !(ptx_is_word(p, PTX_WORD_SPACE) && p->tok.name->word == PTX_SPACE_PARAM))
        ptx_fail_expected(p, is_entry ? "'.param'" : "'.param' or '.reg'");
    variable->space = is_register ? PTX_SPACE_REG : PTX_SPACE_PARAM;
    variable->defined = true;
    ptx_next(p);
    /* Predicates, which ptx_qualifiers() refuses, can be in registers. */
    if (is_register && ptx_is_word(p, PTX_WORD_TYPE) && p->tok.name->word == PTX_pred) {
        variable->type = PTX_pred;
        variable->vector = 1;
        ptx_next(p);
    } else {
        ptx_qualifiers(p, variable);
    }
    ptx_intern_numbered(p);
    if (may_be_unnamed && p->tok.kind != PTX_TOKEN_NAME)
        variable->name = p->sink->text;
    else
        variable->name = ptx_expect_name(p, "a parameter's name")->text;
    if (variable->name == p->sink->text && !is_entry && !may_be_unnamed)
        ptx_fail(p, variable->line, variable->column, "a parameter of a function cannot be called '_'");
    ptx_check_reference(p, variable, is_entry);
    ptx_dimensions(p, variable);
    if (variable->space == PTX_SPACE_PARAM && variable->vector > 1)
        ptx_fail(p, variable->line, variable->column, "a parameter must not be a vector");
    if (is_entry && variable->dim_count && !variable->dims[0])
        ptx_fail(p, variable->line, variable->column, "a parameter of an entry must have a size");
    return variable;
}

/* parameters = "(" (parameter ("," parameter)*)? ")" ; they gather in p->operands until their number is
 * known */
PtxVariable **ptx_parameter_list(PtxParser *p, bool is_entry, bool may_be_unnamed, uint32_t *count)
{
    uint32_t from = p->operands.count;
    ptx_expect(p, '(');
    while (!ptx_is(p, ')')) {
        PtxVariable *variable = ptx_parameter(p, is_entry, may_be_unnamed);
        variable->id = p->operands.count - from;
        ((PtxOperand *)ptx_push(p, &p->operands, sizeof(PtxOperand)))->variable = variable;
        if (!ptx_accept(p, ',')) break;
        if (ptx_is(p, ')')) ptx_fail_expected(p, "a parameter");
    }
    ptx_expect(p, ')');
    *count = p->operands.count - from;
    PtxVariable **list = ptx_new(p, *count * sizeof *list);
    for (uint32_t i = 0; i < *count; i++) list[i] = ((PtxOperand *)p->operands.items)[from + i].variable;
    p->operands.count = from;
    return list;
}
