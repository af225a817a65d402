/* See pack_format.h. */
#include "core/pack_format.h"

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernel_layout.h"

static const PackCode codes[] = {
#define PACK_CODE(code, type, kind) {code, PACK_##kind, sizeof(type), _Alignof(type)},
#include "core/pack_codes.def"
#undef PACK_CODE
};

const PackCode *pack_code(char code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code) return &codes[i];
    return NULL;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Reads a repeat count; 1 if none is written. PACK_NO_CODE: the text ends after the count. */
static PackStatus read_count(const char *text, size_t length, size_t *at, size_t *count)
{
    bool written = false;
    *count = 0;
    for (; *at < length && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
        written = true;
        if (*count > (PTRDIFF_MAX - 9) / 10) return PACK_TOO_LARGE;
        *count = *count * 10 + (size_t)(text[*at] - '0');
    }
    if (!written) *count = 1;
    return written && *at == length ? PACK_NO_CODE : PACK_OK;
}

/* Appends a run at the next aligned offset. */
static PackStatus append(PackFormat *format, size_t *capacity, const PackCode *code, size_t count)
{
    size_t offset = kernel_layout_align(format->size, code->alignment);
    if (count > (PTRDIFF_MAX - offset) / code->size) return PACK_TOO_LARGE;
    if (format->run_count == *capacity) {
        size_t larger = *capacity ? *capacity * 2 : 8;
        PackRun *runs = realloc(format->runs, larger * sizeof *runs);
        if (!runs) return PACK_NO_MEMORY;
        format->runs = runs;
        *capacity = larger;
    }
    PackRun *run = &format->runs[format->run_count++];
    *run = (PackRun){code, count, offset};
    format->size = offset + count * code->size;
    format->value_count += pack_run_values(run);
    return PACK_OK;
}

static PackStatus parse_runs(PackFormat *format, const char *text, size_t length, size_t *at)
{
    size_t capacity = 0;
    while (*at < length) {
        size_t count;
        if (is_space(text[*at])) {
            ++*at;
            continue;
        }
        if (strchr("<>=!@", text[*at])) return PACK_BAD_ORDER;
        PackStatus status = read_count(text, length, at, &count);
        if (status != PACK_OK) return status;
        const PackCode *code = pack_code(text[*at]);
        if (!code) return PACK_BAD_CODE;
        status = append(format, &capacity, code, count);
        if (status != PACK_OK) return status;
        ++*at;
    }
    return PACK_OK;
}

PackStatus pack_format_parse(PackFormat *format, const char *text, size_t length, size_t *where)
{
    *format = (PackFormat){0};
    *where = length > 0 && text[0] == '@';
    PackStatus status = parse_runs(format, text, length, where);
    if (status != PACK_OK) pack_format_free(format);
    return status;
}

void pack_format_free(PackFormat *format)
{
    free(format->runs);
    *format = (PackFormat){0};
}
