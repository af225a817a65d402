/* Module level: version, target, then declarations in any order. */
#include <string.h>

#include "ptx/parser.h"

uint32_t ptx_plain_integer(PtxParser *p, const char *what)
{
    if (p->tok.kind != PTX_TOKEN_INTEGER) ptx_fail_expected(p, what);
    uint64_t value = p->tok.bits;
    ptx_next(p);
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* The token "8.5" as 85. It was read as a decimal number, whose digits count as they are written. */
static int ptx_version_number(PtxParser *p)
{
    const char *at = p->tok.start, *end = at + p->tok.length;
    int major = 0, minor = 0;
    for (; at < end && *at >= '0' && *at <= '9' && major < 1000; at++) major = major * 10 + (*at - '0');
    bool good = at > p->tok.start && at + 2 == end && at[0] == '.' && at[1] >= '0' && at[1] <= '9';
    if (p->tok.kind != PTX_TOKEN_FLOAT || !good) ptx_fail_expected(p, "a version such as 8.0");
    minor = at[1] - '0';
    return major * 10 + minor;
}

/* version = ".version" major "." minor */
static void ptx_version(PtxParser *p)
{
    if (!ptx_accept_directive(p, PTX_DIRECTIVE_version)) ptx_fail_expected(p, "'.version'");
    int version = ptx_version_number(p),
        max = p->options.max_version ? p->options.max_version : PTX_NEWEST_VERSION;
    if (version > max)
        ptx_fail_status(p, PTX_UNSUPPORTED_VERSION, p->tok.line, p->tok.column,
                        "unsupported PTX version %d.%d; the newest known is %d.%d", version / 10,
                        version % 10, max / 10, max % 10);
    if (version < PTX_OLDEST_VERSION)
        ptx_fail_status(p, PTX_UNSUPPORTED_VERSION, p->tok.line, p->tok.column,
                        "unsupported PTX version %d.%d; the oldest known is %d.%d", version / 10,
                        version % 10, PTX_OLDEST_VERSION / 10, PTX_OLDEST_VERSION % 10);
    p->module->version = version;
    ptx_next(p);
}

/* Sets the module's target to that of the token, "sm_90a" or "compute_90a"; false if it is another word. */
static bool ptx_architecture(PtxParser *p)
{
    const char *text = p->tok.name->text;
    size_t start = !strncmp(text, "sm_", 3) ? 3 : !strncmp(text, "compute_", 8) ? 8 : 0;
    size_t digits = start ? strspn(text + start, "0123456789") : 0;
    if (!digits || digits > 4) return false;
    int number = 0;
    for (size_t i = 0; i < digits; i++) number = number * 10 + (text[start + i] - '0');
    const char *suffix = text + start + digits;
    if (*suffix && (strchr("af", *suffix) == NULL || suffix[1])) return false;
    p->module->target = number;
    p->module->target_suffix = *suffix;
    return true;
}

/* Refuses a target that is newer than the module's .version. `tok` is its name, already in p->module. */
static void ptx_check_target(PtxParser *p, const PtxToken *tok)
{
    static const struct {
        uint16_t number;
        char suffix;
        uint8_t version;
    } targets[] = {
#define TARGET(number, suffix, version) {number, suffix, version},
#include "ptx/targets.def"
    };
    const PtxModule *m = p->module;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].number == m->target && targets[i].suffix == m->target_suffix
            && targets[i].version > m->version)
            ptx_fail(p, tok->line, tok->column, "target '%s' needs .version %d.%d", tok->name->text,
                     targets[i].version / 10, targets[i].version % 10);
}

/* target = ".target" word ("," word)* */
static void ptx_target(PtxParser *p)
{
    static const char *const ignored[] = {"texmode_unified", "texmode_independent", "map_f64_to_f32"};
    if (!ptx_accept_directive(p, PTX_DIRECTIVE_target)) ptx_fail_expected(p, "'.target'");
    do {
        PtxToken tok = p->tok;
        if (tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, "a target such as sm_75");
        bool supported = ptx_architecture(p) || !strcmp(tok.name->text, "debug");
        p->module->debug |= !strcmp(tok.name->text, "debug");
        for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
            supported |= !strcmp(tok.name->text, ignored[i]);
        if (!supported) ptx_fail(p, tok.line, tok.column, "unknown target '%s'", tok.name->text);
        if (p->options.max_target && p->module->target > p->options.max_target)
            ptx_fail_status(p, PTX_UNSUPPORTED_TARGET, tok.line, tok.column,
                            "target '%s' is newer than this device, sm_%d", tok.name->text,
                            p->options.max_target);
        ptx_check_target(p, &tok);
        ptx_next(p);
    } while (ptx_accept(p, ','));
    if (!p->module->target) ptx_fail(p, p->tok.line, p->tok.column, "the target names no architecture");
}

static void ptx_address_size(PtxParser *p)
{
    uint32_t line = p->tok.line, column = p->tok.column;
    if (ptx_plain_integer(p, "32 or 64") != 64)
        ptx_fail(p, line, column, "only 64-bit addresses are supported");
}

/* file = ".file" number string ("," number "," number)? */
void ptx_file(PtxParser *p)
{
    uint32_t number = ptx_plain_integer(p, "a file's number");
    if (p->tok.kind != PTX_TOKEN_STRING) ptx_fail_expected(p, "a file's name in quotes");
    PtxFile *file = ptx_push(p, &p->files, sizeof *file);
    file->number = number;
    file->name = ptx_intern(p, p->tok.start, p->tok.length)->text;
    ptx_next(p);
    while (ptx_accept(p, ',')) ptx_plain_integer(p, "a number"); /* time and size, which nothing reads */
}

/* loc = ".loc" file line column ("," "function_name" name ("+" number)? | "," "inlined_at" file line
 *       column)* */
void ptx_loc(PtxParser *p)
{
    p->file = ptx_plain_integer(p, "a file's number");
    p->source_line = ptx_plain_integer(p, "a line");
    ptx_plain_integer(p, "a column");
    while (ptx_accept(p, ',')) {
        const char *word = ptx_expect_name(p, "function_name or inlined_at")->text;
        if (!strcmp(word, "inlined_at")) {
            for (int i = 0; i < 3; i++) ptx_plain_integer(p, "a number");
        } else {
            ptx_expect_name(p, "a label");
            if (ptx_accept(p, '+')) ptx_plain_integer(p, "a number");
        }
    }
}

/* section = ".section" name "{" anything "}": debugging information, which nothing here reads */
void ptx_section(PtxParser *p)
{
    if (p->tok.kind != PTX_TOKEN_DIRECTIVE && p->tok.kind != PTX_TOKEN_NAME)
        ptx_fail_expected(p, "a section's name");
    ptx_next(p);
    if (!ptx_is(p, '{')) ptx_fail_expected(p, "'{'");
    ptx_skip_to_brace(p);
    ptx_expect(p, '}');
}

void ptx_skip_to_semicolon(PtxParser *p)
{
    while (!ptx_is(p, ';')) {
        if (p->tok.kind != PTX_TOKEN_STRING && !ptx_is(p, ',')) ptx_fail_expected(p, "a string");
        ptx_next(p);
    }
    ptx_next(p);
}

/* linkage = ".extern" | ".visible" | ".weak" | ".common" */
static PtxLinkage ptx_linkage(PtxParser *p)
{
    if (ptx_accept_directive(p, PTX_DIRECTIVE_extern)) return PTX_LINKAGE_EXTERN;
    if (ptx_accept_directive(p, PTX_DIRECTIVE_visible)) return PTX_LINKAGE_VISIBLE;
    if (ptx_accept_directive(p, PTX_DIRECTIVE_weak)) return PTX_LINKAGE_WEAK;
    return ptx_accept_directive(p, PTX_DIRECTIVE_common) ? PTX_LINKAGE_COMMON : PTX_LINKAGE_INTERNAL;
}

/* pragma = ".pragma" string ("," string)* ";" ; only one is known, which pycuda's compiler writes */
static void ptx_pragma(PtxParser *p)
{
    static const char assembled[] = "pycuda.assembled";
    if (p->tok.kind == PTX_TOKEN_STRING && p->tok.length == sizeof assembled - 1)
        p->module->assembled |= !memcmp(p->tok.start, assembled, sizeof assembled - 1);
    ptx_skip_to_semicolon(p);
}

/* Old compilers put debugging information into lines that begin so. */
static bool ptx_accept_dwarf(PtxParser *p)
{
    static const char prefix[] = "@@DWARF";
    if (strncmp(p->tok.start, prefix, sizeof prefix - 1) != 0) return false;
    p->at += strcspn(p->at, "\n");
    ptx_next(p);
    return true;
}

/* item = file | section | pragma | alias | registers | linkage? (function | variable) */
static void ptx_item(PtxParser *p)
{
    PtxLinkage linkage = ptx_linkage(p);
    bool linked = linkage != PTX_LINKAGE_INTERNAL;
    if (linkage == PTX_LINKAGE_COMMON && !(ptx_is_space(p) && p->tok.name->word == PTX_SPACE_GLOBAL))
        ptx_fail_expected(p, "'.global' after '.common'");
    if (ptx_is_directive(p, PTX_DIRECTIVE_entry) || ptx_is_directive(p, PTX_DIRECTIVE_func))
        ptx_function(p, linkage);
    else if (ptx_is_space(p))
        ptx_variable_statement(p, linkage);
    else if (linked)
        ptx_fail_expected(p, "a function or a variable");
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_file))
        ptx_file(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_loc))
        ptx_loc(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_section))
        ptx_section(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_pragma))
        ptx_pragma(p);
    else if (ptx_accept_directive(p, PTX_DIRECTIVE_alias))
        ptx_alias(p);
    else if (ptx_has_thread_variables(p) && ptx_is_directive(p, PTX_DIRECTIVE_reg))
        ptx_note_thread_registers(p);
    else if (!ptx_accept_dwarf(p))
        ptx_fail_expected(p, "a directive, a function or a variable");
}

/* Moves what the text has declared from the parser to the module. */
static void ptx_take_module(PtxParser *p)
{
    PtxModule *m = p->module;
    m->global_count = p->globals.count;
    m->function_count = p->functions.count;
    m->file_count = p->files.count;
    m->form_count = p->forms.count;
    m->globals = ptx_take(p, &p->globals, 0, sizeof *m->globals);
    m->functions = ptx_take(p, &p->functions, 0, sizeof *m->functions);
    m->files = ptx_take(p, &p->files, 0, sizeof *m->files);
    m->forms = ptx_take(p, &p->forms, 0, sizeof *m->forms);
    for (uint32_t i = 0; i < m->global_count; i++) m->globals[i]->home = m;
    for (uint32_t i = 0; i < m->function_count; i++) m->functions[i]->home = m;
}

/* module = version target (".address_size" number)? item* */
void ptx_module(PtxParser *p)
{
    ptx_next(p);
    ptx_version(p);
    ptx_target(p);
    p->module->address_size = 64;
    if (ptx_accept_directive(p, PTX_DIRECTIVE_address_size)) ptx_address_size(p);
    while (p->tok.kind != PTX_TOKEN_END) ptx_item(p);
    ptx_take_module(p);
}
