/* Constant expressions (PTX manual, section 4.5): 64-bit integers with C's operators, floating point with
 * a sign and + - * /, and addresses of variables and functions plus a number.
 */
#include <string.h>

#include "ptx/parser.h"

static PtxConstant ptx_integer(uint8_t type, uint64_t bits)
{
    return (PtxConstant){.type = type, .bits = bits};
}

static bool ptx_is_address(const PtxConstant *c) { return c->variable || c->function; }

static bool ptx_is_float(const PtxConstant *c) { return c->type == PTX_f32 || c->type == PTX_f64; }

static PtxConstant ptx_conditional(PtxParser *p);
static PtxConstant ptx_unary(PtxParser *p);

/* symbol = variable ("[" constant "]")? | function */
static PtxConstant ptx_symbol_constant(PtxParser *p)
{
    PtxToken tok = p->tok;
    PtxSymbol *symbol = tok.name->symbol;
    PtxConstant c = ptx_integer(PTX_s64, 0);
    if (!symbol) ptx_fail(p, tok.line, tok.column, "'%s' is not declared", tok.name->text);
    if (symbol->kind == PTX_SYMBOL_VARIABLE)
        c.variable = symbol->variable;
    else if (symbol->kind == PTX_SYMBOL_FUNCTION)
        c.function = symbol->function;
    else
        ptx_fail(p, tok.line, tok.column, "'%s' is not a variable or a function", tok.name->text);
    ptx_next(p);
    if (c.variable && ptx_accept(p, '[')) {
        if (!c.variable->dim_count) ptx_fail(p, tok.line, tok.column, "'%s' is not an array", tok.name->text);
        c.bits = (uint64_t)ptx_constant_integer(p) * (ptx_type_bytes(c.variable->type) * c.variable->vector);
        ptx_expect(p, ']');
    }
    return c;
}

/* generic = "generic" "(" symbol ")" */
static PtxConstant ptx_generic(PtxParser *p)
{
    ptx_next(p);
    ptx_expect(p, '(');
    ptx_intern_numbered(p);
    if (p->tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, "a variable");
    PtxConstant c = ptx_symbol_constant(p);
    c.generic = true;
    ptx_expect(p, ')');
    return c;
}

/* number = integer | float | integer "(" address ")" ; in the last form the integer is a mask */
static PtxConstant ptx_number_constant(PtxParser *p)
{
    PtxConstant c = {.type = p->tok.type, .bits = p->tok.bits};
    bool is_integer = p->tok.kind == PTX_TOKEN_INTEGER;
    uint32_t line = p->tok.line, column = p->tok.column;
    ptx_next(p);
    if (!is_integer || !ptx_accept(p, '(')) return c;
    uint64_t mask = c.bits;
    c = ptx_constant(p);
    if (!ptx_is_address(&c) || c.masked || !mask) ptx_fail(p, line, column, "only an address can be masked");
    c.masked = true;
    c.mask = mask;
    ptx_expect(p, ')');
    return c;
}

/* parenthesis = "(" (".s64" | ".u64") ")" unary | "(" conditional ")" ; the first form is a cast */
static PtxConstant ptx_parenthesis(PtxParser *p)
{
    ptx_next(p);
    if (p->tok.kind == PTX_TOKEN_DIRECTIVE && p->tok.name->word_kind == PTX_WORD_TYPE
        && (p->tok.name->word == PTX_s64 || p->tok.name->word == PTX_u64)) {
        uint8_t type = (uint8_t)p->tok.name->word;
        ptx_next(p);
        ptx_expect(p, ')');
        PtxConstant c = ptx_unary(p);
        if (ptx_is_float(&c))
            ptx_fail(p, p->tok.line, p->tok.column, "a floating-point constant cannot be cast");
        c.type = type;
        return c;
    }
    PtxConstant c = ptx_conditional(p);
    ptx_expect(p, ')');
    return c;
}

/* primary = number | "WARP_SZ" | generic | symbol | parenthesis. A variable that is named `generic` hides the
 * operator. */
static PtxConstant ptx_primary(PtxParser *p)
{
    if (p->tok.kind == PTX_TOKEN_INTEGER || p->tok.kind == PTX_TOKEN_FLOAT || ptx_reread_number(p))
        return ptx_number_constant(p);
    if (ptx_is(p, '(')) return ptx_parenthesis(p);
    ptx_intern_numbered(p);
    if (p->tok.kind != PTX_TOKEN_NAME) ptx_fail_expected(p, "a constant");
    if (p->tok.name == p->warp_size) {
        ptx_next(p);
        return ptx_integer(PTX_s64, PTX_WARP_SIZE);
    }
    return p->tok.name == p->generic && !p->generic->symbol ? ptx_generic(p) : ptx_symbol_constant(p);
}

/* unary = ("+" | "-" | "!" | "~") unary | primary */
static PtxConstant ptx_unary(PtxParser *p)
{
    PtxToken tok = p->tok;
    unsigned sign = tok.kind == PTX_TOKEN_PUNCTUATION ? tok.sign : 0;
    if (sign != '+' && sign != '-' && sign != '!' && sign != '~') {
        ptx_enter(p);
        PtxConstant c = ptx_primary(p);
        ptx_leave(p);
        return c;
    }
    ptx_next(p);
    ptx_enter(p);
    PtxConstant c = ptx_unary(p);
    ptx_leave(p);
    if (ptx_is_address(&c) || (ptx_is_float(&c) && sign != '-' && sign != '+'))
        ptx_fail(p, tok.line, tok.column, "'%c' cannot be applied to this operand", (char)sign);
    if (sign == '-')
        c.bits = c.type == PTX_f32   ? c.bits ^ 0x80000000u
                 : c.type == PTX_f64 ? c.bits ^ 1ull << 63
                                     : 0 - c.bits;
    else if (sign == '~')
        c.bits = ~c.bits;
    else if (sign == '!')
        c = ptx_integer(PTX_s64, !c.bits);
    return c;
}

/* How tightly the token binds as a binary operator; 0: it is not one. */
static int ptx_precedence(const PtxParser *p)
{
    static const struct {
        uint16_t sign;
        uint8_t precedence;
    } table[] = {
        {'*', 10},
        {'/', 10},
        {'%', 10},
        {'+', 9},
        {'-', 9},
        {PTX_SIGN2('<', '<'), 8},
        {PTX_SIGN2('>', '>'), 8},
        {'<', 7},
        {'>', 7},
        {PTX_SIGN2('<', '='), 7},
        {PTX_SIGN2('>', '='), 7},
        {PTX_SIGN2('=', '='), 6},
        {PTX_SIGN2('!', '='), 6},
        {'&', 5},
        {'^', 4},
        {'|', 3},
        {PTX_SIGN2('&', '&'), 2},
        {PTX_SIGN2('|', '|'), 1},
    };
    /* The table is searched only after most constants have ended. */
    if (p->tok.kind != PTX_TOKEN_PUNCTUATION || p->tok.sign == ',' || p->tok.sign == ';') return 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].sign == p->tok.sign) return table[i].precedence;
    return 0;
}

/* Quotient or remainder as in C, but a quotient by -1 that does not fit wraps. Division by zero is an
 * error. */
static uint64_t ptx_divide(PtxParser *p, const PtxToken *tok, bool is_unsigned, uint64_t a, uint64_t b)
{
    bool quotient = tok->sign == '/';
    if (!b) ptx_fail(p, tok->line, tok->column, "division by zero");
    if (is_unsigned) return quotient ? a / b : a % b;
    if (b == UINT64_MAX) return quotient ? 0 - a : 0;
    return (uint64_t)(quotient ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

/* As in C, with counts above 63 too: these shift all bits out. */
static uint64_t ptx_shift(bool left, bool is_unsigned, uint64_t a, uint64_t b)
{
    if (b > 63) return !left && !is_unsigned && (int64_t)a < 0 ? UINT64_MAX : 0;
    uint64_t filled = !left && !is_unsigned && (int64_t)a < 0 ? ~(UINT64_MAX >> b) : 0;
    return left ? a << b : a >> b | filled;
}

/* a sign b, as 0 or 1. */
static PtxConstant ptx_compare(unsigned sign, bool is_unsigned, uint64_t a, uint64_t b)
{
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
    switch (sign) {
    case '<': return ptx_integer(PTX_s64, less);
    case '>': return ptx_integer(PTX_s64, !less && a != b);
    case PTX_SIGN2('<', '='): return ptx_integer(PTX_s64, less || a == b);
    case PTX_SIGN2('>', '='): return ptx_integer(PTX_s64, !less);
    case PTX_SIGN2('=', '='): return ptx_integer(PTX_s64, a == b);
    default: return ptx_integer(PTX_s64, a != b); /* "!=" */
    }
}

/* x op y of integers. A shift has the type of x; comparisons, && and || give 0 or 1 as .s64; any other
 * result is unsigned if x or y is. */
static PtxConstant ptx_apply(PtxParser *p, const PtxToken *tok, const PtxConstant *x, const PtxConstant *y)
{
    bool is_unsigned = x->type == PTX_u64 || y->type == PTX_u64;
    uint64_t a = x->bits, b = y->bits;
    PtxConstant c = ptx_integer(is_unsigned ? PTX_u64 : PTX_s64, 0);
    switch (tok->sign) {
    case '+': c.bits = a + b; return c;
    case '-': c.bits = a - b; return c;
    case '*': c.bits = a * b; return c;
    case '/':
    case '%': c.bits = ptx_divide(p, tok, is_unsigned, a, b); return c;
    case '&': c.bits = a & b; return c;
    case '|': c.bits = a | b; return c;
    case '^': c.bits = a ^ b; return c;
    case PTX_SIGN2('<', '<'): return ptx_integer(x->type, ptx_shift(true, x->type == PTX_u64, a, b));
    case PTX_SIGN2('>', '>'): return ptx_integer(x->type, ptx_shift(false, x->type == PTX_u64, a, b));
    case PTX_SIGN2('&', '&'): return ptx_integer(PTX_s64, a && b);
    case PTX_SIGN2('|', '|'): return ptx_integer(PTX_s64, a || b);
    default: return ptx_compare(tok->sign, is_unsigned, a, b);
    }
}

/* *x = *x op *y of decimal numbers, as doubles; false, with *x unchanged, for operators that floats do not
 * have. */
static bool ptx_float_apply(unsigned sign, PtxConstant *x, const PtxConstant *y)
{
    double a, b;
    memcpy(&a, &x->bits, 8);
    memcpy(&b, &y->bits, 8);
    switch (sign) {
    case '+': a += b; break;
    case '-': a -= b; break;
    case '*': a *= b; break;
    case '/': a /= b; break;
    default: return false;
    }
    memcpy(&x->bits, &a, 8);
    return true;
}

/* x op y of two integers, two decimal numbers, or an address and a number, which can only be added. */
static PtxConstant ptx_binary(PtxParser *p, const PtxToken *tok, PtxConstant x, PtxConstant y)
{
    if (x.type == PTX_f64 && y.type == PTX_f64 && ptx_float_apply(tok->sign, &x, &y)) return x;
    if (ptx_is_float(&x) || ptx_is_float(&y))
        ptx_fail(p, tok->line, tok->column, "this operator takes integers only");
    if (!ptx_is_address(&x) && !ptx_is_address(&y)) return ptx_apply(p, tok, &x, &y);
    if (tok->sign == '+' && !ptx_is_address(&x) && !y.masked) {
        y.bits += x.bits;
        return y;
    }
    if (tok->sign != '+' || ptx_is_address(&y) || x.masked)
        ptx_fail(p, tok->line, tok->column,
                 "only a number can be added to an address (a+-4 for one before it)");
    x.bits += y.bits;
    return x;
}

/* binary = unary (operator binary)* , with operators whose precedence is at least `min`, 1 or more */
static PtxConstant ptx_binary_chain(PtxParser *p, int min)
{
    PtxConstant c = ptx_unary(p);
    for (int precedence; (precedence = ptx_precedence(p)) >= min;) {
        PtxToken tok = p->tok;
        ptx_next(p);
        c = ptx_binary(p, &tok, c, ptx_binary_chain(p, precedence + 1));
    }
    return c;
}

/* conditional = binary ("?" conditional ":" conditional)? */
static PtxConstant ptx_conditional(PtxParser *p)
{
    PtxConstant c = ptx_binary_chain(p, 1);
    if (!ptx_is(p, '?')) return c;
    if (ptx_is_address(&c) || ptx_is_float(&c))
        ptx_fail(p, p->tok.line, p->tok.column, "a condition must be an integer");
    ptx_enter(p);
    ptx_next(p);
    PtxConstant yes = ptx_conditional(p);
    ptx_expect(p, ':');
    PtxConstant no = ptx_conditional(p);
    ptx_leave(p);
    return c.bits ? yes : no;
}

/* Whether the constant is a number and nothing else, as most are: what ends it follows at once. */
static bool ptx_stands_alone(const PtxParser *p)
{
    bool number = p->tok.kind == PTX_TOKEN_INTEGER || p->tok.kind == PTX_TOKEN_FLOAT;
    return number && (*p->at == ';' || *p->at == ',' || *p->at == ']');
}

PtxConstant ptx_constant(PtxParser *p)
{
    if (ptx_stands_alone(p)) return ptx_number_constant(p);
    ptx_enter(p);
    PtxConstant c = ptx_conditional(p);
    ptx_leave(p);
    return c;
}

PtxConstant ptx_constant_number(PtxParser *p)
{
    uint32_t line = p->tok.line, column = p->tok.column;
    PtxConstant c = ptx_constant(p);
    if (ptx_is_address(&c)) ptx_fail(p, line, column, "expected a number, found an address");
    return c;
}

int64_t ptx_constant_integer(PtxParser *p)
{
    uint32_t line = p->tok.line, column = p->tok.column;
    PtxConstant c = ptx_constant_number(p);
    if (ptx_is_float(&c)) ptx_fail(p, line, column, "expected an integer, found a floating-point number");
    return (int64_t)c.bits;
}
