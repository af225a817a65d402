/* Finds a path through a kernel on which blocks can be run as a whole (exec/code/elementwise.h).
 *
 * The path starts at the entry. At a branch both sides are tried, the fall-through first; a backward branch
 * ends the search. A row on the path has one of three contents: an affine value, the result of a comparison,
 * or part k of an operand. That is element k of the vector that each thread loads, or what was computed from
 * it. An operation on all parts of an operand, one instruction for each, becomes one on the operand.
 *
 * Functions that return bool are false if the kernel does not fit.
 */
#include "exec/code/elementwise.h"

#include "exec/code/block_affine.h"
#include "exec/code/lockstep.h"
#include "lower/module.h"

#include <string.h>

/* A kernel that has more on its path does not fit. */
enum { MAX_ROWS = 96, MAX_INSNS = 256, MAX_BRANCHES = 4 };

typedef enum Content { HAS_AFFINE, HAS_TEST, HAS_PART } Content;

typedef struct RowContent {
    Ref row;
    uint8_t content, part;
    uint32_t index; /* of the affine value or the operand; of a comparison, its operation */
    Ref a, b;        /* of a comparison */
} RowContent;

typedef struct Path {
    const CodeFunction *function;
    CodeElementwise code;
    RowContent rows[MAX_ROWS];
    uint32_t row_count, value_count, access_count;
    uint32_t walked, branches; /* instructions and branches on the path so far */
    ElementwiseStep accesses[ELEMENTWISE_OPERANDS];
    uint8_t parts[ELEMENTWISE_OPERANDS]; /* of each operand: a bit for each part that is loaded or computed */
    struct {
        uint8_t to, from;
    } copies[ELEMENTWISE_OPERANDS]; /* the stores: of operand `from` to operand `to` in memory */
    uint8_t copy_count;
} Path;

/* --- contents of rows ---------------------------------------------------------------------------------- */

/* The index of a row on the path; row_count if it has no content yet. */
static uint32_t find_row(const Path *path, Ref row)
{
    uint32_t n = 0;
    while (n < path->row_count && path->rows[n].row != row) n++;
    return n;
}

static const RowContent *content_of(const Path *path, Ref row)
{
    const uint32_t n = find_row(path, row);
    return n < path->row_count ? &path->rows[n] : NULL;
}

static bool set_content(Path *path, RowContent content)
{
    const uint32_t n = find_row(path, content.row);
    if (n == MAX_ROWS) return false;
    if (n == path->row_count) path->row_count++;
    path->rows[n] = content;
    return true;
}

/* *source: a source as a step has it, in which a register is the index of its affine value. */
static bool affine_source(const Path *path, Ref ref, Ref *source)
{
    *source = ref;
    if (ref_is_value(ref) || ref == REF_ABSENT || ref == REF_ROW_32(REF_WARP, WARP_ROW_TID)) return true;
    const RowContent *row = ref_is_register(ref) ? content_of(path, ref) : NULL;
    if (!row || row->content != HAS_AFFINE) return false;
    *source = REF_MAKE(REF_FRAME, row->index);
    return true;
}

/* Adds an operation on affine values. */
static bool add_affine(Path *path, const Insn *i)
{
    ElementwiseStep step = {.op = i->op, .d = path->value_count};
    if (path->value_count == ELEMENTWISE_VALUES || path->code.step_count == ELEMENTWISE_STEPS) return false;
    if (!affine_source(path, i->a, &step.a) || !affine_source(path, i->b, &step.b)
        || !affine_source(path, i->c, &step.c))
        return false;
    path->code.steps[path->code.step_count++] = step;
    return set_content(path, (RowContent){.row = i->d, .content = HAS_AFFINE, .index = path->value_count++});
}

static bool add_comparison(Path *path, const Insn *i)
{
    RowContent row = {.row = i->d, .content = HAS_TEST, .index = i->op};
    return affine_source(path, i->a, &row.a) && affine_source(path, i->b, &row.b) && set_content(path, row);
}

/* --- operands ------------------------------------------------------------------------------------------ */

static bool add_operand(Path *path, ElementwiseOperand operand, uint8_t *index)
{
    if (path->code.operand_count == ELEMENTWISE_OPERANDS) return false;
    *index = (uint8_t)path->code.operand_count++;
    path->code.operands[*index] = operand;
    return true;
}

/* *index: the operand for a value that is the same in all threads, with elements of `size` bytes. */
static bool value_operand(Path *path, Ref ref, uint32_t size, uint8_t *index)
{
    for (uint32_t k = 0; k < path->code.operand_count; k++) {
        const ElementwiseOperand *o = &path->code.operands[k];
        *index = (uint8_t)k;
        if (o->kind == OPERAND_VALUE && o->value == ref && o->size == size) return true;
    }
    return add_operand(path, (ElementwiseOperand){OPERAND_VALUE, (uint8_t)size, ref}, index);
}

/* Whether the elements of all accesses so far have the same size, and each thread as many of them. */
static bool same_shape(Path *path, uint32_t element, uint32_t bytes)
{
    if (!path->code.bytes) {
        path->code.bytes = bytes;
        path->code.element = (uint8_t)element;
    }
    return path->code.bytes == bytes && path->code.element == element;
}

static RowContent part_content(Ref row, uint8_t part, uint32_t operand)
{
    return (RowContent){.row = row, .content = HAS_PART, .part = part, .index = operand};
}

/* An operand is loaded: the rows get its parts. */
static bool add_load(Path *path, const BlockAccess *access, uint8_t operand)
{
    if (path->copy_count) return false; /* it might read what a store before it has written */
    path->parts[operand] = (uint8_t)((1u << access->count) - 1);
    for (uint8_t k = 0; k < access->count; k++)
        if (!set_content(path, part_content(access->rows[k], k, operand))) return false;
    return true;
}

/* Whether all rows of a store have this value. */
static bool all_have_value(const BlockAccess *access, Ref value)
{
    for (uint8_t k = 0; k < access->count; k++)
        if (access->rows[k] != value) return false;
    return true;
}

/* Whether the rows of a store are all parts of an operand in their order. */
static bool are_parts_of(const Path *path, const BlockAccess *access, uint32_t operand)
{
    for (uint8_t k = 0; k < access->count; k++) {
        const RowContent *part = content_of(path, access->rows[k]);
        if (!part || part->content != HAS_PART || part->index != operand || part->part != k) return false;
    }
    return path->parts[operand] == (1u << access->count) - 1;
}

/* Notes in path->copies that a store to `operand` copies another operand, or a value, there; no step is added
 * for it. `copies` has room: each store has an operand of its own. */
static bool add_store(Path *path, const BlockAccess *access, uint8_t operand)
{
    uint8_t from = 0;
    const Ref first = access->rows[0];
    if (ref_is_value(first)) {
        if (!all_have_value(access, first) || !value_operand(path, first, access->element, &from))
            return false;
    } else {
        const RowContent *row = content_of(path, first);
        if (!row || row->content != HAS_PART || !are_parts_of(path, access, row->index)) return false;
        from = (uint8_t)row->index;
    }
    path->copies[path->copy_count].to = operand;
    path->copies[path->copy_count++].from = from;
    return true;
}

/* Adds a load or store of vectors, and an operand in memory for it. */
static bool add_access(Path *path, const Insn *i)
{
    BlockAccess access;
    uint8_t operand;
    ElementwiseStep step = {.op = i->op, .insn = (uint32_t)(i - path->function->insns), .imm = i->imm};
    if (!block_access(path->function, i, &access) || !affine_source(path, i->a, &step.a)) return false;
    if (!same_shape(path, access.element, (uint32_t)access.element * access.count)) return false;
    for (uint8_t k = 0; k < access.count; k++)
        if (access.rows[k] == REF_ABSENT) return false;
    if (!add_operand(path, (ElementwiseOperand){OPERAND_MEMORY, access.element, REF_ABSENT}, &operand))
        return false;
    step.d = operand;
    step.bytes = (uint8_t)path->code.bytes;
    step.write = access.write;
    path->accesses[path->access_count++] = step;
    return access.write ? add_store(path, &access, operand) : add_load(path, &access, operand);
}

/* --- operations on elements ---------------------------------------------------------------------------- */

/* *operand: that which a source is part of, or has the value of. All sources of an instruction must be the
 * same part: *part, which a first source sets from -1. */
static bool source_operand(Path *path, Ref ref, uint32_t size, int *part, uint8_t *operand)
{
    if (ref_is_value(ref)) return value_operand(path, ref, size, operand);
    const RowContent *row = content_of(path, ref);
    if (!row || row->content != HAS_PART || (*part >= 0 && *part != row->part)) return false;
    *part = row->part;
    *operand = (uint8_t)row->index;
    return path->code.operands[*operand].size == size;
}

/* Finds an operation that computes the same for other parts, but not for `part` yet, or adds one. *result:
 * its operand d. False if there is no room. */
static bool find_op(Path *path, const ElementwiseOp *wanted, unsigned part, uint8_t *result)
{
    for (uint32_t n = 0; n < path->code.op_count; n++) {
        const ElementwiseOp *op = &path->code.ops[n];
        *result = op->d;
        if (op->op == wanted->op && memcmp(op->s, wanted->s, sizeof op->s) == 0
            && !(path->parts[op->d] >> part & 1))
            return true;
    }
    if (path->code.op_count == ELEMENTWISE_OPS) return false;
    const ElementwiseOperand operand = {OPERAND_RESULT, path->code.element, REF_ABSENT};
    if (!add_operand(path, operand, result)) return false;
    path->code.ops[path->code.op_count] = *wanted;
    path->code.ops[path->code.op_count++].d = *result;
    return true;
}

/* Adds an operation on one part of its operands. The result is that part of the operation's operand. */
static bool add_op(Path *path, const Insn *i)
{
    const WideForm *form = &wide_forms[i->op];
    const Ref sources[] = {i->a, i->b, i->c};
    ElementwiseOp wanted = {.op = form->op};
    int part = -1;
    uint8_t result;
    if (i->mods || !path->code.bytes || form->size != path->code.element) return false;
    for (int n = 0; n < 3; n++) {
        if (n >= form->sources)
            wanted.s[n] = wanted.s[0];
        else if (!source_operand(path, sources[n], form->size, &part, &wanted.s[n]))
            return false;
    }
    if (part < 0 || !find_op(path, &wanted, (unsigned)part, &result)) return false;
    path->parts[result] |= (uint8_t)(1u << part);
    return set_content(path, part_content(i->d, (uint8_t)part, result));
}

/* --- the path ------------------------------------------------------------------------------------------ */

/* Makes the stores operations. If there is one, and it stores the last result, that is computed into memory.
 * If not, each becomes a copy after all operations. With several copies none may read memory, since a copy
 * before it might have overwritten that. */
static bool finish_ops(Path *path)
{
    CodeElementwise *code = &path->code;
    const uint8_t to = path->copies[0].to, from = path->copies[0].from;
    ElementwiseOp *last = code->op_count ? &code->ops[code->op_count - 1] : NULL;
    if (path->copy_count == 1 && last && last->d == from) {
        last->d = to;
        code->operands[from] = (ElementwiseOperand){OPERAND_UNUSED, 0, REF_ABSENT};
        return true;
    }
    for (uint32_t k = 0; k < path->copy_count; k++) {
        if (code->op_count == ELEMENTWISE_OPS) return false;
        if (path->copy_count > 1 && code->operands[path->copies[k].from].kind == OPERAND_MEMORY) return false;
        code->ops[code->op_count++] = (ElementwiseOp){WIDE_COUNT, path->copies[k].to, {path->copies[k].from}};
    }
    return path->copy_count != 0;
}

static bool finish_path(Path *path)
{
    CodeElementwise *code = &path->code;
    uint32_t buffers = 0;
    if (!finish_ops(path) || code->step_count + path->access_count > ELEMENTWISE_STEPS) return false;
    memcpy(code->steps + code->step_count, path->accesses, path->access_count * sizeof *path->accesses);
    code->step_count += path->access_count;
    for (uint32_t k = 0; k < code->operand_count; k++) buffers += elementwise_is_buffered(&code->operands[k]);
    code->buffered = buffers != 0;
    return buffers <= ELEMENTWISE_BUFFERS;
}

/* Follows the path from an instruction to its end. */
static bool walk_path(Path *path, const Insn *i);

/* Continues at `next`, the side of a branch that is taken if the comparison gives `holds`. */
static bool walk_if(Path *path, const RowContent *test, bool holds, const Insn *next)
{
    if (path->code.step_count == ELEMENTWISE_STEPS) return false;
    path->code.steps[path->code.step_count++] = (ElementwiseStep){
        .op = (uint16_t)test->index, .holds = holds, .a = test->a, .b = test->b, .c = REF_ABSENT};
    return walk_path(path, next);
}

static bool walk_branch(Path *path, const Insn *i)
{
    const RowContent *row = content_of(path, i->a);
    if (!row || row->content != HAS_TEST || path->branches++ == MAX_BRANCHES) return false;
    const RowContent test = *row;
    const bool taken = !(i->mods & MODS_NEGATE);
    Path other = *path;
    if (walk_if(path, &test, !taken, i + 1)) return true;
    *path = other;
    return walk_if(path, &test, taken, i->target);
}

static bool step_over(Path *path, const Insn *i)
{
    switch (lockstep_classes[i->op]) {
    case LOCKSTEP_AFFINE: return add_affine(path, i);
    case LOCKSTEP_COMPARE: return add_comparison(path, i);
    case LOCKSTEP_ACCESS: return add_access(path, i);
    case LOCKSTEP_ELEMENTS: return add_op(path, i);
    default: return false;
    }
}

static bool walk_path(Path *path, const Insn *i)
{
    for (; path->walked < MAX_INSNS; path->walked++) {
        switch (i->op) {
        case OP_label: i++; break;
        case OP_bra: i = i->target; break;
        case OP_bra_p: return walk_branch(path, i);
        case OP_ret:
        case OP_exit: return i->a == REF_ABSENT && finish_path(path);
        default:
            if (!step_over(path, i)) return false;
            i++;
        }
    }
    return false;
}

void lower_elementwise(Lower *lower, CodeFunction *code)
{
    Path path = {.function = code};
    if (!walk_path(&path, code->insns)) return;
    CodeElementwise *elementwise = ARENA_ARRAY(lower->keep, CodeElementwise, 1);
    *elementwise = path.code;
    code->elementwise = elementwise;
}
