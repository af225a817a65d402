/* The lexer: one token at a time, from a text that ends with a NUL (so no look past the end is needed).
 *
 * Names are interned at once, so that the parser compares pointers and finds symbols without searching.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

/* What a character can be, as bits. PAIRED: the first of a sign of two characters, such as "<<". */
enum { NAME_START = 1, NAME = 2, DIGIT = 4, HEX = 8, PUNCTUATION = 16, BLANK = 32, PAIRED = 64 };

static const uint8_t ptx_chars[256] = {
    ['0' ... '7'] = NAME | DIGIT | HEX,
    ['8' ... '9'] = NAME | DIGIT | HEX,
    ['a' ... 'f'] = NAME_START | NAME | HEX,
    ['g' ... 'z'] = NAME_START | NAME,
    ['A' ... 'F'] = NAME_START | NAME | HEX,
    ['G' ... 'Z'] = NAME_START | NAME,
    ['_'] = NAME_START | NAME,
    ['$'] = NAME_START | NAME,
    ['%'] = NAME_START | PUNCTUATION,
    ['&'] = PUNCTUATION | PAIRED,
    ['('] = PUNCTUATION,
    [')'] = PUNCTUATION,
    ['*'] = PUNCTUATION,
    ['+'] = PUNCTUATION,
    [','] = PUNCTUATION,
    ['-'] = PUNCTUATION,
    ['.'] = PUNCTUATION,
    ['/'] = PUNCTUATION,
    ['!'] = PUNCTUATION | PAIRED,
    [':'] = PUNCTUATION,
    [';'] = PUNCTUATION,
    ['<'] = PUNCTUATION | PAIRED,
    ['='] = PUNCTUATION | PAIRED,
    ['>'] = PUNCTUATION | PAIRED,
    ['?'] = PUNCTUATION,
    ['@'] = PUNCTUATION,
    ['['] = PUNCTUATION,
    [']'] = PUNCTUATION,
    ['^'] = PUNCTUATION,
    ['{'] = PUNCTUATION,
    ['|'] = PUNCTUATION | PAIRED,
    ['}'] = PUNCTUATION,
    ['~'] = PUNCTUATION,
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['\f'] = BLANK,
    ['\v'] = BLANK,
};

static bool is_char(char c, int class) { return ptx_chars[(unsigned char)c] & class; }

static uint32_t ptx_column(const PtxParser *p, const char *at) { return (uint32_t)(at - p->line_start) + 1; }

static void ptx_new_line(PtxParser *p, const char *newline)
{
    p->line++;
    p->line_start = newline + 1;
}

/* block-comment = "/" "*" ... "*" "/" */
static const char *ptx_block_comment(PtxParser *p, const char *at)
{
    uint32_t line = p->line, column = ptx_column(p, at);
    for (at += 2; *at; at++) {
        if (*at == '\n')
            ptx_new_line(p, at);
        else if (at[0] == '*' && at[1] == '/')
            return at + 2;
    }
    ptx_fail(p, line, column, "comment without an end");
}

/* The first character from p->at on that is neither a blank nor in a
 * comment. Counts lines, and leaves p->at. */
static inline __attribute__((always_inline)) const char *ptx_skip_blanks(PtxParser *p)
{
    const char *at = p->at;
    for (;;) {
        if (is_char(*at, BLANK))
            at++;
        else if (*at == '\n')
            ptx_new_line(p, at++);
        else if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            at = ptx_block_comment(p, at);
        else
            return at;
    }
}

/* Makes the token one of that kind, with the name from `start` up to `end`. */
static void ptx_name_token(PtxParser *p, uint8_t kind, const char *start, const char *end)
{
    p->tok.kind = kind;
    p->tok.name = ptx_intern(p, start, (size_t)(end - start));
    p->at = end;
}

/* Makes the token a NUMBERED one if the text from `start` up to `end` is a register of a range in scope, as
 * %r7 is with %r<n>. A text has thousands of these spellings, so they are not interned. False for any other
 * text, and if some register of that prefix was declared by itself: then the token is unchanged. */
static bool ptx_numbered_token(PtxParser *p, const char *start, const char *end)
{
    const char *digits = end;
    while (is_char(digits[-1], DIGIT)) digits--;
    if (digits == end || end - digits > PTX_MAX_NUMBER_DIGITS || (*digits == '0' && end - digits > 1))
        return false;
    PtxName *prefix = ptx_seen(p, start, (size_t)(digits - start));
    if (!prefix || !prefix->range || prefix->spelled) return false;
    uint32_t number = 0;
    while (digits < end) number = number * 10 + (uint32_t)(*digits++ - '0');
    PtxSymbol *range = ptx_find_range(prefix, number);
    if (!range || range->vector > 1) return false;
    p->tok.kind = PTX_TOKEN_NUMBERED;
    p->tok.name = prefix;
    p->tok.number = number;
    p->at = end;
    return true;
}

void ptx_intern_numbered(PtxParser *p)
{
    if (p->tok.kind == PTX_TOKEN_NUMBERED) ptx_name_token(p, PTX_TOKEN_NAME, p->tok.start, p->at);
}

/* word = name ("::" name)*, as in .shared::cta; the name may start with a digit. Returns where it ends. */
static const char *ptx_dotted_word(const char *at)
{
    while (is_char(*at, NAME)) at++;
    while (at[0] == ':' && at[1] == ':' && is_char(at[2], NAME))
        for (at += 2; is_char(*at, NAME);) at++;
    return at;
}

static unsigned hex_value(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10); }

/* A float token: 0f or 0d at `at`, then exactly `digits` hexadecimal digits. Returns where it ends. */
static const char *ptx_float_bits(PtxParser *p, const char *at, int digits, PtxType type)
{
    uint64_t bits = 0;
    int n = 0;
    for (at += 2; n < digits && is_char(*at, HEX); n++) bits = bits << 4 | hex_value(*at++);
    if (n < digits || is_char(*at, NAME))
        ptx_fail(p, p->tok.line, p->tok.column, "a number that starts with %.2s has %d hexadecimal digits",
                 p->tok.start, digits);
    p->tok.kind = PTX_TOKEN_FLOAT;
    p->tok.type = (uint8_t)type;
    p->tok.bits = bits;
    return at;
}

/* An integer token of the digits at `at`, and a U that makes it unsigned. Returns where it ends. A number of
 * more than 64 bits is an error. */
static const char *ptx_digits(PtxParser *p, const char *at, unsigned base)
{
    uint64_t value = 0;
    const char *first = at;
    for (; is_char(*at, HEX) && hex_value(*at) < base; at++) {
        if (value > (UINT64_MAX - hex_value(*at)) / base)
            ptx_fail(p, p->tok.line, p->tok.column, "integer of more than 64 bits");
        value = value * base + hex_value(*at);
    }
    if (at == first) ptx_fail(p, p->tok.line, p->tok.column, "number without digits");
    p->tok.kind = PTX_TOKEN_INTEGER;
    p->tok.type = value > INT64_MAX ? PTX_u64 : PTX_s64;
    p->tok.bits = value;
    if (*at == 'U') {
        p->tok.type = PTX_u64;
        at++;
    }
    if (is_char(*at, NAME)) ptx_fail(p, p->line, ptx_column(p, at), "'%c' in a number", *at);
    return at;
}

static bool ptx_is_decimal_float(const char *at)
{
    while (is_char(*at, DIGIT)) at++;
    return *at == '.' || *at == 'e' || *at == 'E';
}

/* decimal = digits ("." digits)? (("e" | "E") ("+" | "-")? digits)?
 * A float token of the number at `at`; returns where it ends. strtod gets its digits and an exponent, but not
 * the point, whose spelling depends on the locale. */
static const char *ptx_decimal_float(PtxParser *p, const char *at)
{
    enum {
        MAX_DIGITS = 480,
        EXPONENT_SIZE = 32,
        MAX_EXPONENT = 100000 /* all larger ones give 0 or infinity */
    };
    char copy[MAX_DIGITS + EXPONENT_SIZE];
    size_t length = 0;
    long exponent = 0, given = 0;
    for (bool fraction = false; is_char(*at, DIGIT) || (*at == '.' && !fraction); at++) {
        if (*at == '.') {
            fraction = true;
        } else if (length < MAX_DIGITS) {
            copy[length++] = *at;
            if (fraction) exponent--;
        }
    }
    if ((*at | 32) == 'e') {
        bool negative = at[1] == '-';
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (!is_char(*at, DIGIT)) ptx_fail(p, p->line, ptx_column(p, at), "exponent without digits");
        for (; is_char(*at, DIGIT); at++) {
            if (given < MAX_EXPONENT) given = given * 10 + (*at - '0');
        }
        exponent += negative ? -given : given;
    }
    if (length == MAX_DIGITS || is_char(*at, NAME)) ptx_fail(p, p->tok.line, p->tok.column, "not a number");
    snprintf(copy + length, sizeof copy - length, "e%ld", exponent);
    double value = strtod(copy, NULL);
    p->tok.kind = PTX_TOKEN_FLOAT;
    p->tok.type = PTX_f64;
    memcpy(&p->tok.bits, &value, 8);
    return at;
}

/* A number that starts with a digit; octal if that is 0, as in C. */
static void ptx_number_token(PtxParser *p, const char *at)
{
    char second = at[0] == '0' ? (char)(at[1] | 32) : 0;
    if (second == 'x')
        at = ptx_digits(p, at + 2, 16);
    else if (second == 'b')
        at = ptx_digits(p, at + 2, 2);
    else if (second == 'f')
        at = ptx_float_bits(p, at, 8, PTX_f32);
    else if (second == 'd')
        at = ptx_float_bits(p, at, 16, PTX_f64);
    else if (ptx_is_decimal_float(at))
        at = ptx_decimal_float(p, at);
    else
        at = ptx_digits(p, at, at[0] == '0' ? 8 : 10);
    p->at = at;
}

bool ptx_reread_number(PtxParser *p)
{
    if (p->tok.kind != PTX_TOKEN_DIRECTIVE || !is_char(p->tok.start[1], DIGIT)) return false;
    p->at = ptx_decimal_float(p, p->tok.start);
    return true;
}

static void ptx_string_token(PtxParser *p, const char *at)
{
    const char *first = ++at;
    for (; *at && *at != '"' && *at != '\n'; at++)
        if (at[0] == '\\' && at[1] && at[1] != '\n') at++;
    if (*at != '"') ptx_fail(p, p->tok.line, p->tok.column, "string without an end");
    p->tok.kind = PTX_TOKEN_STRING;
    p->tok.start = first;
    p->tok.length = (uint32_t)(at - first);
    p->at = at + 1;
}

static _Noreturn void ptx_fail_byte(PtxParser *p, unsigned char byte)
{
    if (byte < ' ' || byte > '~')
        ptx_fail(p, p->tok.line, p->tok.column, "byte 0x%02x does not belong in PTX", (unsigned)byte);
    ptx_fail(p, p->tok.line, p->tok.column, "'%c' does not belong here", byte);
}

/* Whether two characters are one sign: "<<" ">>" "<=" ">=" "==" "!=" "&&" "||" */
static bool ptx_is_double_sign(char first, char second)
{
    if (!is_char(first, PAIRED)) return false;
    if (second == '=') return first != '&' && first != '|';
    return second == first && first != '!';
}

/* punctuation = a sign of one character or two */
static void ptx_punctuation_token(PtxParser *p, const char *at)
{
    char first = at[0], second = at[1];
    if (!is_char(first, PUNCTUATION)) ptx_fail_byte(p, (unsigned char)first);
    bool pair = ptx_is_double_sign(first, second);
    p->tok.kind = PTX_TOKEN_PUNCTUATION;
    p->tok.sign = (uint16_t)(pair ? PTX_SIGN2(first, second) : first);
    p->at = at + 1 + pair;
}

void ptx_next(PtxParser *p)
{
    const char *at = ptx_skip_blanks(p);
    p->tok.line = p->line;
    p->tok.column = ptx_column(p, at);
    p->tok.start = at;
    if (is_char(*at, NAME_START) && (*at != '%' || is_char(at[1], NAME))) {
        const char *start = at++;
        while (is_char(*at, NAME)) at++;
        if (*start != '%' || !ptx_numbered_token(p, start, at)) ptx_name_token(p, PTX_TOKEN_NAME, start, at);
    } else if (is_char(*at, DIGIT)) {
        ptx_number_token(p, at);
    } else if (*at == '.' && is_char(at[1], NAME)) {
        ptx_name_token(p, PTX_TOKEN_DIRECTIVE, at + 1, ptx_dotted_word(at + 1));
    } else if (at >= p->end) {
        p->tok.kind = PTX_TOKEN_END;
        p->at = at;
    } else if (*at == '"') {
        ptx_string_token(p, at);
        return; /* start and length of a string leave out its quotes */
    } else {
        ptx_punctuation_token(p, at);
    }
    p->tok.length = (uint32_t)(p->at - p->tok.start);
}

void ptx_skip_to_brace(PtxParser *p)
{
    const char *at = p->at;
    while (*at && *at != '}') {
        if (*at == '\n')
            ptx_new_line(p, at++);
        else if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            at = ptx_block_comment(p, at);
        else
            at++;
    }
    p->at = at;
    ptx_next(p);
}

/* The name of a mnemonic with blanks before some of its dots: its parts joined. `first` is the part read, the
 * current token the first word after a blank. (A first part that is too long is refused in the loop.) */
static PtxName *ptx_joined_mnemonic(PtxParser *p, PtxToken first)
{
    char joined[256];
    size_t length = first.length;
    if (length < sizeof joined) memcpy(joined, first.start, length);
    for (; p->tok.kind == PTX_TOKEN_DIRECTIVE; ptx_next(p)) {
        if (length + p->tok.length >= sizeof joined)
            ptx_fail(p, first.line, first.column, "mnemonic of more than %zu characters", sizeof joined - 1);
        memcpy(joined + length, p->tok.start, p->tok.length);
        length += p->tok.length;
    }
    return ptx_intern(p, joined, length);
}

/* words = ("." word)* Returns where they end. */
static const char *ptx_dotted_words(const char *at)
{
    while (at[0] == '.' && is_char(at[1], NAME)) at = ptx_dotted_word(at + 1);
    return at;
}

void ptx_next_statement(PtxParser *p)
{
    const char *start = ptx_skip_blanks(p), *at = start;
    p->at = start;
    if (!is_char(*at, NAME_START) || *at == '%') {
        ptx_next(p);
        return;
    }
    while (is_char(*at, NAME)) at++;
    at = ptx_dotted_words(at);
    p->tok.line = p->line;
    p->tok.column = ptx_column(p, start);
    p->tok.start = start;
    p->tok.length = (uint32_t)(at - start);
    ptx_name_token(p, PTX_TOKEN_NAME, start, at);
}

/* Reads "[bank]" where PTX before 2.2 named the bank of .const; all that is not .extern is in bank 0. */
static void ptx_bank(PtxParser *p, const PtxToken *first)
{
    static const char space[] = ".const";
    size_t length = sizeof space - 1;
    if (p->module->version >= 22 || !ptx_is(p, '[') || first->length < length) return;
    if (memcmp(first->start + first->length - length, space, length) != 0) return;
    ptx_next(p);
    if (p->tok.kind != PTX_TOKEN_INTEGER || p->tok.bits)
        ptx_fail(p, p->tok.line, p->tok.column, "only bank 0 of .const is supported by the CPU device");
    ptx_next(p);
    ptx_expect(p, ']');
}

PtxName *ptx_mnemonic(PtxParser *p)
{
    PtxToken first = p->tok;
    const char *at = ptx_dotted_words(p->at);
    bool whole = at == p->at; /* the token is the mnemonic, as after ptx_next_statement() */
    p->at = at;
    first.length = (uint32_t)(at - first.start);
    ptx_next(p);
    ptx_bank(p, &first);
    if (p->tok.kind == PTX_TOKEN_DIRECTIVE) return ptx_joined_mnemonic(p, first);
    return whole ? first.name : ptx_intern(p, first.start, first.length);
}

bool ptx_is_directive(const PtxParser *p, PtxDirective directive)
{
    return p->tok.kind == PTX_TOKEN_DIRECTIVE && p->tok.name->directive == directive;
}

bool ptx_accept(PtxParser *p, unsigned sign)
{
    if (!ptx_is(p, sign)) return false;
    ptx_next(p);
    return true;
}

bool ptx_accept_directive(PtxParser *p, PtxDirective directive)
{
    if (!ptx_is_directive(p, directive)) return false;
    ptx_next(p);
    return true;
}

void ptx_expect(PtxParser *p, unsigned sign)
{
    if (ptx_accept(p, sign)) return;
    char what[] = {'\'', (char)sign, '\'', 0};
    ptx_fail_expected(p, what);
}

PtxName *ptx_expect_name(PtxParser *p, const char *what)
{
    ptx_intern_numbered(p);
    if (p->tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, what);
    PtxName *name = p->tok.name;
    ptx_next(p);
    return name;
}
