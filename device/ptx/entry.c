/* The front end's entrance and its one exit: memory, errors, and the vectors the parser fills. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

enum { FIRST_CAPACITY = 32, MAX_SHOWN_TOKEN = 60 };

void ptx_fail_status(PtxParser *p, PtxStatus status, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx_report_list(p->module, p->log, status, line, column, format, list);
    va_end(list);
    longjmp(p->exit, 1);
}

void ptx_fail(PtxParser *p, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx_report_list(p->module, p->log, PTX_INVALID, line, column, format, list);
    va_end(list);
    longjmp(p->exit, 1);
}

void ptx_fail_memory(PtxParser *p)
{
    ptx_fail_status(p, PTX_OUT_OF_MEMORY, p->line, 0, "out of memory while reading PTX");
}

void ptx_fail_expected(PtxParser *p, const char *what)
{
    const PtxToken *tok = &p->tok;
    int length = tok->length < MAX_SHOWN_TOKEN ? (int)tok->length : MAX_SHOWN_TOKEN;
    if (tok->kind == PTX_TOKEN_END)
        ptx_fail(p, tok->line, tok->column, "expected %s, found the end of the text", what);
    ptx_fail(p, tok->line, tok->column, "expected %s, found '%.*s'", what, length, tok->start);
}

void *ptx_new(PtxParser *p, size_t size)
{
    void *result = arena_zeros(p->arena, 1, size);
    if (!result) ptx_fail_memory(p);
    return result;
}

void ptx_vector_grow(PtxParser *p, PtxVector *vector, size_t item_size)
{
    size_t bytes = vector->bytes ? vector->bytes * 2 : FIRST_CAPACITY * item_size;
    void *items = chunks_take(p->options.chunks, &bytes);
    if (!items || bytes / item_size > UINT32_MAX) {
        chunks_return(p->options.chunks, items, bytes);
        ptx_fail_memory(p);
    }
    if (vector->count) memcpy(items, vector->items, vector->count * item_size);
    chunks_return(p->options.chunks, vector->items, vector->bytes);
    vector->items = items;
    vector->bytes = bytes;
    vector->capacity = (uint32_t)(bytes / item_size);
}

void *ptx_take(PtxParser *p, PtxVector *vector, uint32_t from, size_t item_size)
{
    uint32_t count = vector->count - from;
    vector->count = from;
    if (!count) return NULL;
    void *items = arena_alloc(p->arena, count * item_size, ARENA_ALIGN_ANY);
    if (!items) ptx_fail_memory(p);
    return memcpy(items, (char *)vector->items + from * item_size, count * item_size);
}

void ptx_enter(PtxParser *p)
{
    if (p->depth >= PTX_MAX_DEPTH)
        ptx_fail(p, p->tok.line, p->tok.column, "nested more than %d deep", PTX_MAX_DEPTH);
    p->depth++;
}

void ptx_leave(PtxParser *p) { p->depth--; }

/* A module with a copy of the text, and nothing else; NULL if out of memory. */
static PtxModule *ptx_module_new(const char *text, size_t length, const PtxOptions *options)
{
    Arena *arena = calloc(1, sizeof *arena);
    if (!arena) return NULL;
    const char *name = options->name ? options->name : "ptx";
    size_t name_size = strlen(name) + 1;
    arena->chunks = options->chunks;
    PtxModule *module = arena_zeros(arena, 1, sizeof *module);
    char *name_copy = module ? arena_alloc(arena, name_size, 1) : NULL;
    char *copy = name_copy && length < SIZE_MAX / 8 ? arena_alloc(arena, length + 1, 1) : NULL;
    if (!copy) {
        arena_free(arena);
        free(arena);
        return NULL;
    }
    module->arena = arena;
    module->name = memcpy(name_copy, name, name_size);
    module->text = length ? memcpy(copy, text, length) : copy;
    copy[length] = '\0';
    module->length = length;
    return module;
}

static void ptx_scratch_free(PtxParser *p)
{
    PtxVector *vectors[] = {&p->bindings, &p->fixups,   &p->scopes, &p->globals,     &p->functions,
                            &p->files,    &p->forms,    &p->insns,  &p->registers,   &p->variables,
                            &p->labels,   &p->operands, &p->bytes,  &p->relocations, &p->thread_registers};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        chunks_return(p->options.chunks, vectors[i]->items, vectors[i]->bytes);
    ptx_names_free(p);
}

/* Parses the text into p->module. ptx_fail() jumps back to here: then the
 * result is false, with the reason in the log. */
static bool ptx_run(PtxParser *p)
{
    if (setjmp(p->exit)) return false;
    ptx_names_init(p);
    ptx_rules_init(p);
    ptx_module(p);
    return true;
}

/* Whether the text has a size and bytes that the lexer can read; an error if not. */
static bool ptx_is_text(const PtxModule *module, PtxLog *log)
{
    if (module->length > UINT32_MAX / 2) {
        ptx_report(module, log, PTX_INVALID, 0, 0, "text of more than 2 GB");
        return false;
    }
    const char *zero = memchr(module->text, 0, module->length);
    if (!zero) return true;
    uint32_t line = 1;
    const char *start = module->text;
    for (const char *at = start; at < zero; at++)
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    ptx_report(module, log, PTX_INVALID, line, (uint32_t)(zero - start) + 1, "NUL byte in the text");
    return false;
}

PtxModule *ptx_parse(const char *text, size_t length, const PtxOptions *options, PtxLog *log)
{
    PtxParser p = {.log = log, .line = 1};
    if (options) p.options = *options;
    p.module = ptx_module_new(text, length, &p.options);
    if (!p.module) {
        log->errors++;
        log->status = PTX_OUT_OF_MEMORY;
        return NULL;
    }
    p.arena = p.module->arena;
    p.at = p.line_start = p.module->text;
    p.end = p.at + length;
    bool good = ptx_is_text(p.module, log) && ptx_run(&p);
    ptx_scratch_free(&p);
    if (good) return p.module;
    ptx_module_free(p.module);
    return NULL;
}

void ptx_module_free(PtxModule *module)
{
    if (!module) return;
    Arena *arena = module->arena;
    for (uint32_t i = 0; i < module->part_count; i++) ptx_module_free(module->parts[i]);
    arena_free(arena);
    free(arena);
}
