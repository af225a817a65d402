/* The log: messages with line, column, source line and caret, kept as text.
 *
 *   saxpy.ptx:12:9: error: unknown instruction 'ad.f32'
 *       ad.f32 %f1, %f2, %f3;
 *       ^
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

enum { MAX_SHOWN = 160 /* characters of a source line */, FIRST_CAPACITY = 512 };

/* Room for so many characters and a NUL; false if out of memory. */
static bool ptx_log_reserve(PtxLog *log, size_t more)
{
    size_t needed = log->length + more + 1;
    if (needed <= log->capacity) return true;
    size_t capacity = needed * 2 < FIRST_CAPACITY ? FIRST_CAPACITY : needed * 2;
    char *text = realloc(log->text, capacity);
    if (!text) return false;
    log->text = text;
    log->capacity = capacity;
    return true;
}

/* If out of memory, text that does not fit is dropped. */
void ptx_log_append_list(PtxLog *log, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (size < 0 || !ptx_log_reserve(log, (size_t)size)) return;
    vsnprintf(log->text + log->length, (size_t)size + 1, format, list);
    log->length += (size_t)size;
}

void ptx_log_append(PtxLog *log, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx_log_append_list(log, format, list);
    va_end(list);
}

/* The text of a line, counted from 1, up to its newline; empty if there is no such line. */
static const char *ptx_line_text(const PtxModule *module, uint32_t line, size_t *length)
{
    const char *at = module->text, *end = at + module->length;
    for (uint32_t n = 1; n < line; n++) {
        const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!newline) {
            *length = 0;
            return end;
        }
        at = newline + 1;
    }
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    *length = (size_t)((newline ? newline : end) - at);
    return at;
}

/* Appends the line, and another with a caret below the column. A long line is cut to the
 * part around the column; characters that cannot be printed become question marks, and
 * tabs stay so that the caret is in place. */
static void ptx_log_source_line(PtxLog *log, const PtxModule *module, uint32_t line, uint32_t column)
{
    size_t length, start = 0, at = column ? column - 1 : 0;
    const char *text = ptx_line_text(module, line, &length);
    char shown[MAX_SHOWN + 1], caret[MAX_SHOWN + 2];
    if (at > length) at = length;
    if (at >= MAX_SHOWN * 3 / 4) start = at - MAX_SHOWN / 2;
    size_t count = length - start < MAX_SHOWN ? length - start : MAX_SHOWN;
    for (size_t i = 0; i < count; i++) {
        char c = text[start + i];
        shown[i] = (c >= ' ' && c <= '~') || c == '\t' ? c : c == '\r' ? ' ' : '?';
    }
    while (count && shown[count - 1] == ' ') count--;
    shown[count] = 0;
    for (size_t i = 0; i < at - start; i++) caret[i] = i < count && shown[i] == '\t' ? '\t' : ' ';
    caret[at - start] = '^';
    caret[at - start + 1] = 0;
    ptx_log_append(log, "    %s\n    %s\n", shown, caret);
}

void ptx_report_list(const PtxModule *module, PtxLog *log, PtxStatus status, uint32_t line, uint32_t column,
                     const char *format, va_list list)
{
    if (log->errors++ == 0) {
        log->status = status;
        log->line = (int)line;
        log->column = (int)column;
    }
    ptx_log_append(log, "%s:%u:%u: error: ", module->name, (unsigned)line, (unsigned)column);
    ptx_log_append_list(log, format, list);
    ptx_log_append(log, "\n");
    if (module->text && line) ptx_log_source_line(log, module, line, column);
}

void ptx_report(const PtxModule *module, PtxLog *log, PtxStatus status, uint32_t line, uint32_t column,
                const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ptx_report_list(module, log, status, line, column, format, list);
    va_end(list);
}

void ptx_link_error(PtxLog *log, const char *format, ...)
{
    va_list list;
    if (log->errors++ == 0) log->status = PTX_UNLINKABLE;
    ptx_log_append(log, "error   : ");
    va_start(list, format);
    ptx_log_append_list(log, format, list);
    va_end(list);
    ptx_log_append(log, "\n");
}

const char *ptx_log_text(const PtxLog *log) { return log->text ? log->text : ""; }

void ptx_log_free(PtxLog *log)
{
    free(log->text);
    *log = (PtxLog){0};
}
