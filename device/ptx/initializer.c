/* Initializers: nested braces flattened into bytes, addresses kept as relocations.
 *
 * Row-major as in C: braces of dimension d fill their part of the array; elements that are not given are
 * zero. The bytes of an array [] grow in p->bytes until its end is known.
 */
#include <string.h>

#include "ptx/parser.h"

typedef struct PtxFill {
    PtxVariable *variable;
    uint8_t *bytes;
    uint64_t size;          /* of bytes, unless open */
    uint64_t stride[PTX_MAX_DIMS + 2]; /* bytes of an element of dimension d; the last: of a scalar */
    unsigned levels;        /* dimensions, and one for the parts of a vector type */
    bool open;              /* an array []: dims[0] follows from the values */
} PtxFill;

/* The place of `size` bytes at `offset`, to which an array [] grows; an error if a variable is too small. */
static uint8_t *ptx_place(PtxParser *p, PtxFill *fill, uint64_t offset, uint64_t size)
{
    if (!fill->open) {
        if (offset + size > fill->size)
            ptx_fail(p, p->tok.line, p->tok.column, "more values than '%s' has elements",
                     fill->variable->name);
        return fill->bytes + offset;
    }
    if (offset + size > PTX_MAX_BYTES - p->initialized)
        ptx_fail(p, p->tok.line, p->tok.column, "initializers of more than %llu MB", PTX_MAX_BYTES >> 20);
    while (p->bytes.count < offset + size) *(uint8_t *)ptx_push(p, &p->bytes, 1) = 0;
    return (uint8_t *)p->bytes.items + offset;
}

/* The position of a mask's lowest bit if the mask is `size` bytes of ones, else -1. */
static int ptx_mask_shift(uint64_t mask, unsigned size)
{
    uint64_t ones = size >= 8 ? UINT64_MAX : (1ull << size * 8) - 1;
    for (unsigned shift = 0; shift < 64; shift += 8)
        if (mask == ones << shift) return (int)shift;
    return -1;
}

/* Adds a relocation for an address (masked: for bytes of it) in an element of `size` bytes. */
static void ptx_relocation(PtxParser *p, PtxFill *fill, uint64_t offset, unsigned size, const PtxConstant *c)
{
    int shift = c->masked ? ptx_mask_shift(c->mask, size) : 0;
    if (shift < 0)
        ptx_fail(p, p->tok.line, p->tok.column, "the mask 0x%llx does not fit the element",
                 (unsigned long long)c->mask);
    if (!c->masked && size < 4)
        ptx_fail(p, p->tok.line, p->tok.column, "an address does not fit %u bytes", size);
    if (ptx_types[fill->variable->type].class == PTX_FLOAT)
        ptx_fail(p, p->tok.line, p->tok.column, "an address cannot initialize a floating-point variable");
    PtxRelocation *relocation = ptx_push(p, &p->relocations, sizeof *relocation);
    relocation->offset = offset;
    relocation->size = (uint8_t)size;
    relocation->shift = (uint8_t)shift;
    relocation->generic = c->generic;
    relocation->variable = c->variable;
    relocation->function = c->function;
    relocation->addend = (int64_t)c->bits;
}

/* element = constant */
static void ptx_element(PtxParser *p, PtxFill *fill, uint64_t offset)
{
    PtxType type = (PtxType)fill->variable->type;
    unsigned size = ptx_type_bytes(type);
    uint32_t line = p->tok.line, column = p->tok.column;
    PtxConstant c = ptx_constant(p);
    uint8_t *place = ptx_place(p, fill, offset, size);
    bool is_float = c.type == PTX_f32 || c.type == PTX_f64;
    if (c.variable || c.function) {
        ptx_relocation(p, fill, offset, size, &c);
        return;
    }
    if (is_float && ptx_types[type].class != PTX_FLOAT && ptx_types[type].class != PTX_BITS)
        ptx_fail(p, line, column, "a floating-point value cannot initialize a .%s", ptx_types[type].name);
    if (!is_float && (type == PTX_f32 || type == PTX_f64))
        ptx_fail(p, line, column, "an integer cannot initialize a .%s", ptx_types[type].name);
    uint64_t bits[2] = {ptx_convert_bits((PtxType)c.type, c.bits, type), 0};
    memcpy(place, bits, size < 16 ? size : 16);
}

/* string = '"' ... '"' , a byte for each character, and a NUL unless the array ends before it */
static void ptx_string_value(PtxParser *p, PtxFill *fill, uint64_t offset)
{
    if (ptx_type_bits((PtxType)fill->variable->type) != 8)
        ptx_fail(p, p->tok.line, p->tok.column, "a string initializes an array of bytes only");
    uint32_t count = p->tok.length + 1;
    if (!fill->open && offset + count > fill->size) count--;
    uint8_t *place = ptx_place(p, fill, offset, count);
    memcpy(place, p->tok.start, count < p->tok.length ? count : p->tok.length);
    ptx_next(p);
}

/* list = "{" (value ("," value)*)? "}" , value = list | string | element
 *
 * `level`: how many braces are around it, each of a dimension; `offset`: where its first value goes. */
static void ptx_list(PtxParser *p, PtxFill *fill, unsigned level, uint64_t offset)
{
    uint64_t limit = fill->open ? PTX_MAX_BYTES : fill->size;
    if (level) limit = offset + fill->stride[level - 1];
    if (level >= fill->levels)
        ptx_fail(p, p->tok.line, p->tok.column, "more braces than '%s' has dimensions", fill->variable->name);
    ptx_expect(p, '{');
    uint64_t scalar = fill->stride[fill->levels - 1];
    while (!ptx_is(p, '}')) {
        if (offset >= limit)
            ptx_fail(p, p->tok.line, p->tok.column, "more values than '%s' has elements",
                     fill->variable->name);
        if (ptx_is(p, '{')) {
            ptx_list(p, fill, level + 1, offset);
            offset += fill->stride[level];
        } else if (p->tok.kind == PTX_TOKEN_STRING) {
            ptx_string_value(p, fill, offset);
            offset += fill->stride[level];
        } else {
            ptx_element(p, fill, offset);
            offset += scalar;
        }
        if (!ptx_accept(p, ',')) break;
        if (ptx_is(p, '}')) ptx_fail_expected(p, "a value");
    }
    ptx_expect(p, '}');
}

static void ptx_fill_init(PtxFill *fill, PtxVariable *variable)
{
    uint64_t stride = ptx_type_bytes((PtxType)variable->type) * (uint64_t)variable->vector;
    unsigned dims = variable->dim_count;
    fill->variable = variable;
    fill->levels = dims + (variable->vector > 1);
    fill->open = dims && variable->dims[0] == 0;
    fill->size = variable->size;
    if (variable->vector > 1) fill->stride[dims] = ptx_type_bytes((PtxType)variable->type);
    for (unsigned d = dims; d-- > 0; stride *= variable->dims[d]) fill->stride[d] = stride;
}

/* Gives the variable its bytes and relocations, and the size of an array []. */
static void ptx_finish(PtxParser *p, PtxFill *fill)
{
    PtxVariable *variable = fill->variable;
    if (fill->open) {
        uint64_t stride = fill->stride[0], count = (p->bytes.count + stride - 1) / stride;
        variable->dims[0] = count;
        variable->size = count * stride;
        while (p->bytes.count < variable->size) ptx_push(p, &p->bytes, 1);
        fill->bytes = ptx_take(p, &p->bytes, 0, 1);
    }
    variable->initial = fill->bytes;
    p->initialized += variable->size;
    variable->relocation_count = p->relocations.count;
    variable->relocations = ptx_take(p, &p->relocations, 0, sizeof(PtxRelocation));
}

/* initializer = "=" (list | string | element) */
void ptx_initializer(PtxParser *p, PtxVariable *variable)
{
    PtxFill fill = {0};
    ptx_fill_init(&fill, variable);
    if (variable->size > PTX_MAX_BYTES - p->initialized)
        ptx_fail(p, p->tok.line, p->tok.column, "initializers of more than %llu MB", PTX_MAX_BYTES >> 20);
    if (variable->space != PTX_SPACE_GLOBAL && variable->space != PTX_SPACE_CONST)
        ptx_fail(p, p->tok.line, p->tok.column, "only .global and .const variables can be initialized");
    if (variable->type == PTX_f16 || variable->type == PTX_f16x2)
        ptx_fail(p, p->tok.line, p->tok.column, "a .%s variable has no initial value (.b16 and .b32 have)",
                 ptx_types[variable->type].name);
    if (!fill.open) fill.bytes = ptx_new(p, variable->size);
    p->bytes.count = 0;
    p->relocations.count = 0;
    if (ptx_is(p, '{'))
        ptx_list(p, &fill, 0, 0);
    else if (p->tok.kind == PTX_TOKEN_STRING)
        ptx_string_value(p, &fill, 0);
    else if (variable->dim_count || variable->vector > 1)
        ptx_fail_expected(p, "'{'");
    else
        ptx_element(p, &fill, 0);
    ptx_finish(p, &fill);
}
