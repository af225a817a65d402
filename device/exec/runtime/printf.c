/* printf and assert of device code: texts made from a format and a buffer of arguments in device memory.
 *
 * The format is C's as CUDA documents it. The arguments are consecutive, each aligned to its size: 4 bytes
 * for int and smaller types, 8 for all others. Lanes print in ascending order; the text of a warp is passed
 * to the launch's `print` in one piece.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/runtime/runtime.h"
#include "exec/state/ranges.h"

enum { MAX_STRING = 1 << 20 };

/* Text that grows. After an allocation has failed nothing is added any more. */
typedef struct PrintfText {
    char *bytes;
    size_t count, capacity;
    bool failed;
} PrintfText;

/* Makes room for that many more bytes. False if out of memory, now or before. */
static bool text_reserve(PrintfText *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 256;
    char *grown;
    if (text->failed) return false;
    while (capacity - text->count < more) capacity *= 2;
    if (capacity == text->capacity) return true;
    grown = realloc(text->bytes, capacity);
    text->failed = !grown;
    if (!grown) return false;
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

static void text_add(PrintfText *text, const char *bytes, size_t count)
{
    if (!text_reserve(text, count)) return;
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
}

__attribute__((format(printf, 2, 3))) static void text_print(PrintfText *text, const char *format, ...)
{
    va_list arguments;
    int count;
    va_start(arguments, format);
    count = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (count < 0 || !text_reserve(text, (size_t)count + 1)) return;
    va_start(arguments, format);
    vsnprintf(text->bytes + text->count, (size_t)count + 1, format, arguments);
    va_end(arguments);
    text->count += (size_t)count;
}

/* --- reading device memory ----------------------------------------------------------------------------- */

typedef struct Reader {
    Warp *warp;
    const Insn *insn;
    int lane;
    RangeEntry range;  /* hit last */
    bool failed;       /* a fault is recorded */
} Reader;

/* Copies bytes of device memory to `out`. False after a fault; only the first one is recorded. */
static bool read_bytes(Reader *r, uint64_t address, void *out, uint32_t size)
{
    if (!range_has(&r->range, address, size)) {
        if (!range_find(r->warp, r->insn, address, size, false)) {
            if (!r->failed) r->failed = !exec_fault_access(r->warp, r->insn, r->lane, address, size, false);
            if (!r->failed) memset(out, 0, size);
            return !r->failed;
        }
        r->range = r->warp->worker->loads[range_slot(r->insn)];
    }
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

/* The string at address, ended by a zero; the caller frees it. NULL after a fault or if out of memory. */
static char *read_string(Reader *r, uint64_t address)
{
    PrintfText text = {0};
    char c = 0;
    do {
        if (!read_bytes(r, address++, &c, 1)) break;
        text_add(&text, &c, 1);
    } while (c && text.count < MAX_STRING && !text.failed);
    if (!text.failed && !r->failed && c == 0) return text.bytes;
    free(text.bytes);
    return NULL;
}

/* --- one conversion ------------------------------------------------------------------------------------ */

typedef struct PrintfConversion {
    char flags[8];
    int width, precision;    /* -1: not given */
    int size;                /* h: -1, hh: -2, l: 1, ll: 2 */
    char type;
} PrintfConversion;

/* The arguments of one lane's call: the address of the next one, and how many have been taken. */
typedef struct Arguments {
    Reader *reader;
    uint64_t at;
    uint32_t taken;
} Arguments;

/* The next argument, of `size` bytes; 0 after a fault. */
static uint64_t take_argument(Arguments *a, uint32_t size)
{
    uint64_t value = 0;
    a->at = (a->at + size - 1) / size * size;
    read_bytes(a->reader, a->at, &value, size);
    a->at += size;
    a->taken++;
    return value;
}

/* Reads a width or a precision, which is the next argument where a * stands. Returns the character after
 * it. */
static const char *parse_number(const char *p, int *number, Arguments *arguments)
{
    if (*p == '*') {
        *number = (int)(uint32_t)take_argument(arguments, 4);
        return p + 1;
    }
    for (*number = 0; *p >= '0' && *p <= '9'; p++) {
        if (*number < 100000) *number = *number * 10 + (*p - '0');
    }
    return p;
}

/* Reads what follows a %. Returns the character after it, or NULL if it is not a conversion. */
static const char *parse_conversion(const char *p, PrintfConversion *c, Arguments *arguments)
{
    size_t flags = 0;
    *c = (PrintfConversion){.width = -1, .precision = -1};
    for (; *p && strchr("#0- +", *p); p++) {
        if (!strchr(c->flags, *p) && flags < sizeof c->flags - 1) c->flags[flags++] = *p;
    }
    if (*p == '*' || (*p >= '1' && *p <= '9')) p = parse_number(p, &c->width, arguments);
    if (c->width < -1) {
        if (flags < sizeof c->flags - 1) c->flags[flags++] = '-';
        c->width = -c->width;
    }
    if (*p == '.') p = parse_number(p + 1, &c->precision, arguments);
    for (; *p == 'h' || *p == 'l' || *p == 'z' || *p == 't' || *p == 'j'; p++) c->size += *p == 'h' ? -1 : 1;
    c->type = *p;
    return *p && strchr("diouxXcspeEfFgGaA", *p) ? p + 1 : NULL;
}

/* Writes the conversion as a format for the C library; modifier: "ll" for long long, else "". */
static void write_spec(const PrintfConversion *c, const char *modifier, char *out, size_t capacity)
{
    char width[16] = "", precision[16] = "";
    if (c->width >= 0) snprintf(width, sizeof width, "%d", c->width);
    if (c->precision >= 0) snprintf(precision, sizeof precision, ".%d", c->precision);
    snprintf(out, capacity, "%%%s%s%s%s%c", c->flags, width, precision, modifier, c->type);
}

static long long signed_value(const PrintfConversion *c, Arguments *arguments)
{
    if (c->size > 0) return (long long)take_argument(arguments, 8);
    int value = (int)(uint32_t)take_argument(arguments, 4);
    return c->size == -1 ? (short)value : c->size < -1 ? (signed char)value : value;
}

static unsigned long long unsigned_value(const PrintfConversion *c, Arguments *arguments)
{
    if (c->size > 0) return take_argument(arguments, 8);
    unsigned value = (unsigned)take_argument(arguments, 4);
    return c->size == -1 ? (unsigned short)value : c->size < -1 ? (unsigned char)value : value;
}

static void print_string(PrintfText *text, const char *spec, Arguments *arguments)
{
    uint64_t address = take_argument(arguments, 8);
    char *string = address ? read_string(arguments->reader, address) : NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (string || !address) text_print(text, spec, string ? string : "(null)");
#pragma GCC diagnostic pop
    free(string);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_conversion(PrintfText *text, const PrintfConversion *c, Arguments *arguments)
{
    char spec[64];
    double number;
    uint64_t bits;
    switch (c->type) {
    case 'd':
    case 'i':
        write_spec(c, "ll", spec, sizeof spec);
        text_print(text, spec, signed_value(c, arguments));
        break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        write_spec(c, "ll", spec, sizeof spec);
        text_print(text, spec, unsigned_value(c, arguments));
        break;
    case 'c':
        write_spec(c, "", spec, sizeof spec);
        text_print(text, spec, (int)(uint32_t)take_argument(arguments, 4));
        break;
    case 's':
        write_spec(c, "", spec, sizeof spec);
        print_string(text, spec, arguments);
        break;
    case 'p':
        write_spec(c, "", spec, sizeof spec);
        text_print(text, spec, (void *)(uintptr_t)take_argument(arguments, 8));
        break;
    default:
        write_spec(c, "", spec, sizeof spec);
        bits = take_argument(arguments, 8);
        memcpy(&number, &bits, sizeof number);
        text_print(text, spec, number);
        break;
    }
}
#pragma GCC diagnostic pop

/* Adds the text of one lane's call. A % that begins no conversion is printed as it is. */
static void print_lane(PrintfText *text, const char *format, Arguments *arguments)
{
    while (*format && !arguments->reader->failed && !text->failed) {
        size_t plain = strcspn(format, "%");
        PrintfConversion conversion;
        const char *after;
        text_add(text, format, plain);
        format += plain;
        if (!*format) break;
        if (format[1] == '%') {
            text_add(text, "%", 1);
            format += 2;
            continue;
        }
        after = parse_conversion(format + 1, &conversion, arguments);
        if (after)
            print_conversion(text, &conversion, arguments);
        else
            text_add(text, format, 1);
        format = after ? after : format + 1;
    }
}

/* --- the two functions --------------------------------------------------------------------------------- */

static void pass_to_launch(const Grid *grid, const PrintfText *text)
{
    if (!text->count || !grid->launch->print) return;
    pthread_mutex_lock(grid->print_lock);
    grid->launch->print(grid->launch->print_closure, text->bytes, text->count);
    pthread_mutex_unlock(grid->print_lock);
}

const Insn *print_formatted(Warp *warp, const Insn *insn)
{
    const uint64_t *formats = ROW(const uint64_t, warp, insn->a),
                   *buffers = ROW(const uint64_t, warp, insn->b);
    uint32_t *result = insn->d == REF_ABSENT ? NULL : ROW(uint32_t, warp, insn->d);
    uint32_t counts[WARP_LANES] = {0};
    Reader reader = {.warp = warp, .insn = insn};
    PrintfText text = {0};
    for (uint32_t rest = warp->mask; rest && !reader.failed && !text.failed; rest &= rest - 1) {
        Arguments arguments = {.reader = &reader};
        char *format;
        reader.lane = __builtin_ctz(rest);
        arguments.at = buffers[reader.lane];
        format = read_string(&reader, formats[reader.lane]);
        if (format) print_lane(&text, format, &arguments);
        counts[reader.lane] = arguments.taken;
        free(format);
    }
    for (uint32_t rest = result ? warp->mask : 0; rest; rest &= rest - 1)
        result[__builtin_ctz(rest)] = counts[__builtin_ctz(rest)];
    pass_to_launch(warp->block->grid, &text);
    free(text.bytes);
    if (text.failed)
        return exec_fault(warp, insn, reader.lane, CUDA_ERROR_OUT_OF_MEMORY,
                          "no memory for the text of printf");
    return reader.failed ? NULL : insn + 1;
}

/* The string that an operand of the reader's lane points to, which the caller frees; NULL if there is
 * none or it cannot be read. */
static char *assert_string(Reader *reader, Ref ref)
{
    uint64_t address = ROW(const uint64_t, reader->warp, ref)[reader->lane];
    return address ? read_string(reader, address) : NULL;
}

const Insn *print_assert(Warp *warp, const Insn *insn)
{
    const Ref *refs = warp->current->function->refs + insn->more;
    const Block *block = warp->block;
    Reader reader = {.warp = warp, .insn = insn};
    PrintfText text = {0};
    for (uint32_t rest = warp->mask; rest && !reader.failed; rest &= rest - 1) {
        int l = reader.lane = __builtin_ctz(rest);
        char *message = assert_string(&reader, refs[0]), *file = assert_string(&reader, refs[1]);
        char *function = assert_string(&reader, refs[3]);
        text_print(&text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                   file ? file : "?", ROW(const uint32_t, warp, refs[2])[l], function ? function : "?",
                   block->id[0], block->id[1], block->id[2], warp->rows[WARP_ROW_TID].lane[l],
                   warp->rows[WARP_ROW_TID + 1].lane[l], warp->rows[WARP_ROW_TID + 2].lane[l],
                   message ? message : "?");
        free(message);
        free(file);
        free(function);
    }
    pthread_mutex_lock(block->grid->print_lock);
    if (text.count) fwrite(text.bytes, 1, text.count, stderr);
    pthread_mutex_unlock(block->grid->print_lock);
    if (!reader.failed)
        exec_fault(warp, insn, __builtin_ctz(warp->mask), CUDA_ERROR_ASSERT, "%.*s",
                   (int)strcspn(text.bytes ? text.bytes : "", "\n"), text.bytes ? text.bytes : "");
    free(text.bytes);
    return NULL;
}
