/* Looks for a way through a kernel on which blocks can be run as a whole (exec/code/stream.h).
 *
 * The way starts at the entry. At a branch both sides are tried, the one fallen into first; backward ones
 * end the search. Rows are followed by what they hold: a line, a comparison, or part k of an operand, which
 * is the element k of those that each thread loads side by side. An operation on all parts of an operand,
 * one instruction each, becomes one on the operand.
 */
#include "exec/code/stream.h"
#include "lower/module.h"

#include <string.h>

enum { ROWS_MOST = 96, INSNS_MOST = 256, BRANCHES_MOST = 4 };

typedef enum Content { HAS_LINE, HAS_TEST, HAS_PART } Content;

typedef struct RowContent {
    Ref row;
    uint8_t content, part;
    uint32_t number; /* of the line, instruction or operand */
    Ref a, b;        /* of a comparison */
} RowContent;

typedef struct Way {
    const CodeFunction *function;
    CodeStream code;
    RowContent rows[ROWS_MOST];
    uint32_t row_count, line_count, access_count, walked, branches;
    StreamStep accesses[STREAM_OPERANDS];
    uint8_t parts[STREAM_OPERANDS]; /* of each operand, a bit for those that are known */
    uint8_t copies[STREAM_OPERANDS][2], copy_count; /* operands stored: to, from */
} Way;

typedef enum Rule { SUM = 1, PRODUCT, SHIFT, UNIFORM, COMPARE, ACCESS } Rule;
static const uint8_t rules[OP_COUNT] = {
#define AFFINE(name, rule, d, a, b, c) [OP_affine_##name] = rule,
#include "exec/code/affine.def"
#undef AFFINE
};

/* --- what rows hold ------------------------------------------------------------------------------------ */

static uint32_t find_row(const Way *x, Ref row)
{
    uint32_t n = 0;
    while (n < x->row_count && x->rows[n].row != row) n++;
    return n;
}

static const RowContent *content_of(const Way *x, Ref row)
{
    const uint32_t n = find_row(x, row);
    return n < x->row_count ? &x->rows[n] : NULL;
}

static bool set_content(Way *x, RowContent content)
{
    const uint32_t n = find_row(x, content.row);
    if (n == ROWS_MOST) return false;
    if (n == x->row_count) x->row_count++;
    x->rows[n] = content;
    return true;
}

/* The same value in all threads, and no register. */
static bool is_value(Ref ref)
{
    const uint32_t base = ref >> REF_BASE_SHIFT;
    return base == REF_CONST || base == REF_PARAM || base == REF_BLOCK;
}

/* A source of a line: registers by the number of their line. */
static bool line_source(const Way *x, Ref ref, Ref *source)
{
    *source = ref;
    if (is_value(ref) || ref == REF_ABSENT || ref == REF_ROW_32(REF_WARP, WARP_ROW_TID)) return true;
    const RowContent *row = ref_is_register(ref) ? content_of(x, ref) : NULL;
    if (!row || row->content != HAS_LINE) return false;
    *source = REF_MAKE(REF_FRAME, row->number);
    return true;
}

static bool add_line(Way *x, const Insn *i)
{
    StreamStep step = {.op = i->op, .d = x->line_count};
    if (x->line_count == STREAM_LINES || x->code.step_count == STREAM_STEPS) return false;
    if (!line_source(x, i->a, &step.a) || !line_source(x, i->b, &step.b) || !line_source(x, i->c, &step.c))
        return false;
    x->code.steps[x->code.step_count++] = step;
    return set_content(x, (RowContent){.row = i->d, .content = HAS_LINE, .number = x->line_count++});
}

static bool add_comparison(Way *x, const Insn *i)
{
    RowContent row = {.row = i->d, .content = HAS_TEST, .number = i->op};
    return line_source(x, i->a, &row.a) && line_source(x, i->b, &row.b) && set_content(x, row);
}

/* --- operands ------------------------------------------------------------------------------------------ */

static bool add_operand(Way *x, StreamOperand operand, uint8_t *number)
{
    if (x->code.operand_count == STREAM_OPERANDS) return false;
    *number = (uint8_t)x->code.operand_count++;
    x->code.operands[*number] = operand;
    return true;
}

static bool value_operand(Way *x, Ref ref, uint32_t size, uint8_t *number)
{
    for (uint32_t k = 0; k < x->code.operand_count; k++) {
        const StreamOperand *o = &x->code.operands[k];
        *number = (uint8_t)k;
        if (o->hold == HOLDS_VALUE && o->value == ref && o->size == size) return true;
    }
    return add_operand(x, (StreamOperand){HOLDS_VALUE, (uint8_t)size, ref}, number);
}

/* All arrays have elements of one size, and as many a thread. */
static bool same_shape(Way *x, uint32_t element, uint32_t bytes)
{
    if (!x->code.bytes) {
        x->code.bytes = bytes;
        x->code.element = (uint8_t)element;
    }
    return x->code.bytes == bytes && x->code.element == element;
}

typedef struct Access {
    bool write;
    uint8_t element, count;
    const Ref *rows;
} Access;

static bool read_access(const Way *x, const Insn *i, Access *access)
{
    const uint8_t count = i->mods & MEM_COUNT;
    const Ref *list = x->function->refs + i->more;
    switch (i->op) {
    case OP_affine_ld_generic_b32_32: *access = (Access){false, 4, 1, &i->d}; break;
    case OP_affine_ld_generic_b64_64: *access = (Access){false, 8, 1, &i->d}; break;
    case OP_affine_st_generic_b32_32: *access = (Access){true, 4, 1, &i->b}; break;
    case OP_affine_st_generic_b64_64: *access = (Access){true, 8, 1, &i->b}; break;
    case OP_affine_ldv_generic_b32_32: *access = (Access){false, 4, count, list}; break;
    case OP_affine_ldv_generic_b64_64: *access = (Access){false, 8, count, list}; break;
    case OP_affine_stv_generic_b32_32: *access = (Access){true, 4, count, list}; break;
    case OP_affine_stv_generic_b64_64: *access = (Access){true, 8, count, list}; break;
    default: return false;
    }
    return true;
}

static bool add_load(Way *x, const Access *access, uint8_t operand)
{
    if (x->copy_count) return false; /* it might read what was stored */
    x->parts[operand] = (uint8_t)((1u << access->count) - 1);
    for (uint8_t k = 0; k < access->count; k++)
        if (!set_content(x, (RowContent){access->rows[k], HAS_PART, k, operand, 0, 0})) return false;
    return true;
}

/* What is stored: all parts of an operand in their order, or one value. */
static bool add_store(Way *x, const Access *access, uint8_t operand)
{
    uint8_t from = 0;
    const Ref first = access->rows[0];
    const RowContent *row = content_of(x, first);
    if (is_value(first)) {
        if (!value_operand(x, first, access->element, &from)) return false;
    } else if (!row || row->content != HAS_PART || x->parts[row->number] != (1u << access->count) - 1) {
        return false;
    } else {
        from = (uint8_t)row->number;
    }
    for (uint8_t k = 0; k < access->count; k++) {
        const RowContent *part = content_of(x, access->rows[k]);
        if (is_value(first) ? access->rows[k] != first
                            : !part || part->content != HAS_PART || part->number != from || part->part != k)
            return false;
    }
    x->copies[x->copy_count][0] = operand;
    x->copies[x->copy_count++][1] = from;
    return true;
}

static bool add_access(Way *x, const Insn *i)
{
    Access access;
    uint8_t operand;
    StreamStep step = {.op = i->op, .insn = (uint32_t)(i - x->function->insns), .imm = i->imm};
    if (i->mods & (MEM_STRONG | MEM_ADDR32) || !read_access(x, i, &access) || !line_source(x, i->a, &step.a))
        return false;
    if (!same_shape(x, access.element, (uint32_t)access.element * access.count)) return false;
    for (uint8_t k = 0; k < access.count; k++)
        if (access.rows[k] == REF_ABSENT) return false;
    if (!add_operand(x, (StreamOperand){HOLDS_MEMORY, access.element, REF_ABSENT}, &operand)) return false;
    step.d = operand;
    step.bytes = (uint8_t)x->code.bytes;
    step.write = access.write;
    x->accesses[x->access_count++] = step;
    return access.write ? add_store(x, &access, operand) : add_load(x, &access, operand);
}

/* --- operations on elements ---------------------------------------------------------------------------- */

/* The operand that a source is part `*part` of, or any part of. */
static bool source_operand(Way *x, Ref ref, uint32_t size, int *part, uint8_t *operand)
{
    if (is_value(ref)) return value_operand(x, ref, size, operand);
    const RowContent *row = content_of(x, ref);
    if (!row || row->content != HAS_PART || (*part >= 0 && *part != row->part)) return false;
    *part = row->part;
    *operand = (uint8_t)row->number;
    return x->code.operands[*operand].size == size;
}

/* The operation on the other parts, which is there already, or a new one. */
static bool find_work(Way *x, const StreamWork *wanted, unsigned part, uint8_t *result)
{
    for (uint32_t n = 0; n < x->code.work_count; n++) {
        const StreamWork *work = &x->code.work[n];
        *result = work->d;
        if (work->op == wanted->op && memcmp(work->s, wanted->s, sizeof work->s) == 0
            && !(x->parts[work->d] >> part & 1))
            return true;
    }
    if (x->code.work_count == STREAM_WORK) return false;
    const StreamOperand operand = {HOLDS_RESULT, x->code.element, REF_ABSENT};
    if (!add_operand(x, operand, result)) return false;
    x->code.work[x->code.work_count] = *wanted;
    x->code.work[x->code.work_count++].d = *result;
    return true;
}

static bool add_work(Way *x, const Insn *i)
{
    const WideForm *form = &wide_forms[i->op];
    const Ref sources[] = {i->a, i->b, i->c};
    StreamWork wanted = {.op = form->op};
    int part = -1;
    uint8_t result;
    if (i->mods || !x->code.bytes || form->size != x->code.element) return false;
    for (int n = 0; n < 3; n++) {
        if (n >= form->sources)
            wanted.s[n] = wanted.s[0];
        else if (!source_operand(x, sources[n], form->size, &part, &wanted.s[n]))
            return false;
    }
    if (part < 0 || !find_work(x, &wanted, (unsigned)part, &result)) return false;
    x->parts[result] |= (uint8_t)(1u << part);
    return set_content(x, (RowContent){i->d, HAS_PART, (uint8_t)part, result, 0, 0});
}

/* --- the way ------------------------------------------------------------------------------------------- */

/* The last result may go to memory at once where it is all that is stored. Else copies come last; of several
 * none may come from memory, which another might have overwritten. */
static bool finish_work(Way *x)
{
    CodeStream *code = &x->code;
    const uint8_t to = x->copies[0][0], from = x->copies[0][1];
    StreamWork *last = code->work_count ? &code->work[code->work_count - 1] : NULL;
    if (x->copy_count == 1 && last && last->d == from) {
        last->d = to;
        code->operands[from] = (StreamOperand){HOLDS_NOTHING, 0, REF_ABSENT};
        return true;
    }
    for (uint32_t k = 0; k < x->copy_count; k++) {
        if (code->work_count == STREAM_WORK) return false;
        if (x->copy_count > 1 && code->operands[x->copies[k][1]].hold == HOLDS_MEMORY) return false;
        code->work[code->work_count++] = (StreamWork){WIDE_COUNT, x->copies[k][0], {x->copies[k][1]}};
    }
    return x->copy_count != 0;
}

static bool finish(Way *x)
{
    CodeStream *code = &x->code;
    uint32_t buffers = 0;
    if (!finish_work(x) || code->step_count + x->access_count > STREAM_STEPS) return false;
    memcpy(code->steps + code->step_count, x->accesses, x->access_count * sizeof *x->accesses);
    code->step_count += x->access_count;
    for (uint32_t k = 0; k < code->operand_count; k++) buffers += code->operands[k].hold >= HOLDS_RESULT;
    code->buffered = buffers != 0;
    return buffers <= STREAM_BUFFERS;
}

static bool walk(Way *x, const Insn *i);

/* Goes on on one side, where the comparison gives `holds`. */
static bool walk_if(Way *x, const RowContent *test, bool holds, const Insn *next)
{
    if (x->code.step_count == STREAM_STEPS) return false;
    x->code.steps[x->code.step_count++] = (StreamStep){
        .op = (uint16_t)test->number, .holds = holds, .a = test->a, .b = test->b, .c = REF_ABSENT};
    return walk(x, next);
}

static bool walk_branch(Way *x, const Insn *i)
{
    const RowContent *found = content_of(x, i->a);
    if (!found || found->content != HAS_TEST || x->branches++ == BRANCHES_MOST) return false;
    const RowContent test = *found;
    const bool taken = !(i->mods & MODS_NEGATE);
    Way other = *x;
    if (walk_if(x, &test, !taken, i + 1)) return true;
    *x = other;
    return walk_if(x, &test, taken, i->target);
}

static bool step_over(Way *x, const Insn *i)
{
    switch (rules[i->op]) {
    case SUM:
    case PRODUCT:
    case SHIFT: return add_line(x, i);
    case COMPARE: return add_comparison(x, i);
    case ACCESS: return add_access(x, i);
    default: return wide_forms[i->op].size && add_work(x, i);
    }
}

static bool walk(Way *x, const Insn *i)
{
    for (; x->walked < INSNS_MOST; x->walked++) {
        switch (i->op) {
        case OP_label:
        case OP_fused_add_ld_generic_b32_32: /* stand before what they run */
        case OP_fused_add_ld_generic_b64_64:
        case OP_fused_add_st_generic_b32_32:
        case OP_fused_add_st_generic_b64_64:
        case OP_fused_add_ldv_generic_b32_32:
        case OP_fused_add_ldv_generic_b64_64:
        case OP_fused_add_stv_generic_b32_32:
        case OP_fused_add_stv_generic_b64_64: i++; break;
        case OP_bra: i = i->target; break;
        case OP_bra_p: return walk_branch(x, i);
        case OP_ret:
        case OP_exit: return i->a == REF_ABSENT && finish(x);
        default:
            if (!step_over(x, i)) return false;
            i++;
        }
    }
    return false;
}

void lower_stream(Lower *lower, CodeFunction *code)
{
    Way x = {.function = code};
    if (!walk(&x, code->insns)) return;
    CodeStream *stream = ARENA_ARRAY(lower->keep, CodeStream, 1);
    *stream = x.code;
    code->stream = stream;
}
