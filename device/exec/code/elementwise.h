/* Elementwise kernels: a path through a kernel on which every thread reads elements of arrays, computes with
 * them, writes the results and ends, while the addresses rise evenly from thread to thread.
 *
 * A block on this path is run as a whole: indices and addresses once, as base and stride, then the elements
 * of all its threads by loops over memory. lower/passes/elementwise.c finds the path, one for each kernel;
 * exec/run/elementwise.c takes it where all threads of a block do and all accesses are valid, which is
 * checked before anything is written. Other blocks, and those with a fault, are run instruction by
 * instruction.
 */
#ifndef DEVICE_EXEC_CODE_ELEMENTWISE_H
#define DEVICE_EXEC_CODE_ELEMENTWISE_H

#include "exec/code/code.h"
#include "exec/code/wide.h"

enum {
    ELEMENTWISE_VALUES = 48,
    ELEMENTWISE_STEPS = 64,
    ELEMENTWISE_OPERANDS = 16,
    ELEMENTWISE_OPS = 16,
    ELEMENTWISE_BUFFERS = 12
};

/* A step of the path, in its order. op: an operation of affine rows (affine.def). A source in REF_FRAME
 * has the index of a value as its offset. Arithmetic computes value d; a comparison must give `holds` in
 * all threads; an access defines operand d, with `bytes` bytes of each thread. */
typedef struct ElementwiseStep {
    uint16_t op;
    bool holds, write;
    uint8_t bytes;
    Ref d, a, b, c;
    int64_t imm;
    uint32_t insn; /* index of the access in the function's code */
} ElementwiseStep;

/* d = op(s), element by element; d and s are indices of operands. op: enum WideOp, or WIDE_COUNT for a
 * copy. */
typedef struct ElementwiseOp {
    uint8_t op, d, s[3];
} ElementwiseOp;

typedef enum OperandKind { OPERAND_UNUSED, OPERAND_MEMORY, OPERAND_RESULT, OPERAND_VALUE } OperandKind;

/* Elements of all threads: in memory, an intermediate result, or one value (a constant, a parameter). */
typedef struct ElementwiseOperand {
    uint8_t kind, size; /* bytes of an element */
    Ref value;
} ElementwiseOperand;

/* Whether the operand's elements are in a buffer of the block that runs, not in the kernel's memory. */
static inline bool elementwise_is_buffered(const ElementwiseOperand *operand)
{
    return operand->kind == OPERAND_RESULT || operand->kind == OPERAND_VALUE;
}

typedef struct CodeElementwise {
    uint32_t step_count, op_count, operand_count;
    uint32_t bytes; /* that a thread accesses in each array */
    uint8_t element; /* bytes of an element */
    bool buffered; /* has operands that are not memory */
    ElementwiseStep steps[ELEMENTWISE_STEPS];
    ElementwiseOp ops[ELEMENTWISE_OPS];
    ElementwiseOperand operands[ELEMENTWISE_OPERANDS];
} CodeElementwise;

#endif
