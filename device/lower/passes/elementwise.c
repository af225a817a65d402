/* Looks for a path through a kernel on which blocks can be run as a whole (exec/code/elementwise.h).
 *
 * The path starts at the entry. At a branch both sides are tried, the fall-through first; backward branches
 * end the search. A row has one of three contents: an affine value, a comparison, or part k of an operand,
 * which is element k of the vector that each thread loads. An operation on all parts of an operand, one
 * instruction each, becomes one on the operand.
 */
#include "exec/code/elementwise.h"

#include "exec/code/block_affine.h"
#include "exec/code/lockstep.h"
#include "lower/module.h"

#include <string.h>

/* A kernel with more is not taken for an elementwise one. */
enum { MAX_ROWS = 96, MAX_INSNS = 256, MAX_BRANCHES = 4 };

typedef enum Content { HAS_AFFINE, HAS_TEST, HAS_PART } Content;

typedef struct RowContent {
    Ref row;
    uint8_t content, part;
    uint32_t index; /* of the value or operand; of a comparison, the operation */
    Ref a, b;        /* of a comparison */
} RowContent;

typedef struct Path {
    const CodeFunction *function;
    CodeElementwise code;
    RowContent rows[MAX_ROWS];
    uint32_t row_count, value_count, access_count, walked, branches;
    ElementwiseStep accesses[ELEMENTWISE_OPERANDS];
    uint8_t parts[ELEMENTWISE_OPERANDS]; /* of each operand, a bit for those computed so far */
    uint8_t copies[ELEMENTWISE_OPERANDS][2], copy_count; /* operands stored: to, from */
} Path;

/* --- contents of rows ---------------------------------------------------------------------------------- */

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

/* A source operand as a step has it: a register becomes the index of the affine value that it holds. */
static bool affine_source(const Path *path, Ref ref, Ref *source)
{
    *source = ref;
    if (ref_is_value(ref) || ref == REF_ABSENT || ref == REF_ROW_32(REF_WARP, WARP_ROW_TID)) return true;
    const RowContent *row = ref_is_register(ref) ? content_of(path, ref) : NULL;
    if (!row || row->content != HAS_AFFINE) return false;
    *source = REF_MAKE(REF_FRAME, row->index);
    return true;
}

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

static bool value_operand(Path *path, Ref ref, uint32_t size, uint8_t *index)
{
    for (uint32_t k = 0; k < path->code.operand_count; k++) {
        const ElementwiseOperand *o = &path->code.operands[k];
        *index = (uint8_t)k;
        if (o->kind == OPERAND_VALUE && o->value == ref && o->size == size) return true;
    }
    return add_operand(path, (ElementwiseOperand){OPERAND_VALUE, (uint8_t)size, ref}, index);
}

/* Whether the elements of all arrays have the same size, and each thread the same number of them. */
static bool same_shape(Path *path, uint32_t element, uint32_t bytes)
{
    if (!path->code.bytes) {
        path->code.bytes = bytes;
        path->code.element = (uint8_t)element;
    }
    return path->code.bytes == bytes && path->code.element == element;
}

static bool add_load(Path *path, const BlockAccess *access, uint8_t operand)
{
    if (path->copy_count) return false; /* it might read what was stored */
    path->parts[operand] = (uint8_t)((1u << access->count) - 1);
    for (uint8_t k = 0; k < access->count; k++)
        if (!set_content(path, (RowContent){access->rows[k], HAS_PART, k, operand, 0, 0})) return false;
    return true;
}

/* What is stored: all parts of an operand in their order, or one value. */
static bool add_store(Path *path, const BlockAccess *access, uint8_t operand)
{
    uint8_t from = 0;
    const Ref first = access->rows[0];
    const RowContent *row = content_of(path, first);
    if (ref_is_value(first)) {
        if (!value_operand(path, first, access->element, &from)) return false;
    } else if (!row || row->content != HAS_PART || path->parts[row->index] != (1u << access->count) - 1) {
        return false;
    } else {
        from = (uint8_t)row->index;
    }
    for (uint8_t k = 0; k < access->count; k++) {
        const RowContent *part = content_of(path, access->rows[k]);
        if (ref_is_value(first)
                ? access->rows[k] != first
                : !part || part->content != HAS_PART || part->index != from || part->part != k)
            return false;
    }
    path->copies[path->copy_count][0] = operand;
    path->copies[path->copy_count++][1] = from;
    return true;
}

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

/* The operand that a source is part `*part` of, or any part of. */
static bool source_operand(Path *path, Ref ref, uint32_t size, int *part, uint8_t *operand)
{
    if (ref_is_value(ref)) return value_operand(path, ref, size, operand);
    const RowContent *row = content_of(path, ref);
    if (!row || row->content != HAS_PART || (*part >= 0 && *part != row->part)) return false;
    *part = row->part;
    *operand = (uint8_t)row->index;
    return path->code.operands[*operand].size == size;
}

/* Finds an operation that computes the same for other parts, not yet for `part`, or adds one. *result: its
 * operand d. False when there is no room. */
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
    return set_content(path, (RowContent){i->d, HAS_PART, (uint8_t)part, result, 0, 0});
}

/* --- the path ------------------------------------------------------------------------------------------ */

/* The last result may go to memory at once where it is all that is stored. Else copies come last; of several
 * none may come from memory, which another might have overwritten. */
static bool finish_ops(Path *path)
{
    CodeElementwise *code = &path->code;
    const uint8_t to = path->copies[0][0], from = path->copies[0][1];
    ElementwiseOp *last = code->op_count ? &code->ops[code->op_count - 1] : NULL;
    if (path->copy_count == 1 && last && last->d == from) {
        last->d = to;
        code->operands[from] = (ElementwiseOperand){OPERAND_UNUSED, 0, REF_ABSENT};
        return true;
    }
    for (uint32_t k = 0; k < path->copy_count; k++) {
        if (code->op_count == ELEMENTWISE_OPS) return false;
        if (path->copy_count > 1 && code->operands[path->copies[k][1]].kind == OPERAND_MEMORY) return false;
        code->ops[code->op_count++] = (ElementwiseOp){WIDE_COUNT, path->copies[k][0], {path->copies[k][1]}};
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

static bool walk_path(Path *path, const Insn *i);

/* Continues on one side, where the comparison gives `holds`. */
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
