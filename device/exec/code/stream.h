/* Streams: a way through a kernel on which every thread reads elements of arrays, computes with them, writes
 * the results and ends, while the addresses rise evenly from thread to thread.
 *
 * A block on such a way is run as a whole: indices and addresses once, as two numbers each, then the
 * elements of all its threads by loops over memory. lower/passes/stream.c finds the way, one a kernel;
 * exec/run/stream.c takes it where all threads of a block would, and where everything lies as it must:
 * nothing has been written before that is known. Other blocks, and those with a fault, are run instruction
 * by instruction.
 */
#ifndef DEVICE_EXEC_CODE_STREAM_H
#define DEVICE_EXEC_CODE_STREAM_H

#include "exec/code/code.h"
#include "exec/code/wide.h"

enum { STREAM_LINES = 48, STREAM_STEPS = 64, STREAM_OPERANDS = 16, STREAM_WORK = 16, STREAM_BUFFERS = 12 };

/* In the order of the way, named by operations of affine rows (affine.def). Of sources, a REF_FRAME offset is
 * the number of a line. Arithmetic makes line d; a comparison must give `holds` in all threads; an access
 * makes operand d, of `bytes` in each thread. */
typedef struct StreamStep {
    uint16_t op;
    bool holds, write;
    uint8_t bytes;
    Ref d, a, b, c;
    int64_t imm;
    uint32_t insn; /* number of the access in the function's code */
} StreamStep;

/* d = op(s), element by element; with op WIDE_COUNT a copy. All are numbers of operands. */
typedef struct StreamWork {
    uint8_t op, d, s[3];
} StreamWork;

typedef enum StreamHold { HOLDS_NOTHING, HOLDS_MEMORY, HOLDS_RESULT, HOLDS_VALUE } StreamHold;

/* Elements of all threads: in memory, a result on its way, or one value for all (a constant, a parameter). */
typedef struct StreamOperand {
    uint8_t hold, size; /* bytes of an element */
    Ref value;
} StreamOperand;

typedef struct CodeStream {
    uint32_t step_count, work_count, operand_count;
    uint32_t bytes; /* of a thread in each array */
    uint8_t element; /* bytes of one */
    bool buffered; /* has operands that are not memory */
    StreamStep steps[STREAM_STEPS];
    StreamWork work[STREAM_WORK];
    StreamOperand operands[STREAM_OPERANDS];
} CodeStream;

#endif
