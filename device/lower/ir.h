/* What the passes of lower/ hand to each other: a function between its PTX tree and its decoded code.
 *
 * Instructions carry operation and operands as the decoded ones will, but a REF_FRAME operand is the number
 * of a virtual register until registers.c has packed them, and a branch names a block.
 */
#ifndef DEVICE_LOWER_IR_H
#define DEVICE_LOWER_IR_H

#include "exec/code/code.h"
#include "ptx/arena.h"

typedef enum RegisterClass {
    CLASS_PREDICATE,
    CLASS_16,
    CLASS_32,
    CLASS_64,
    CLASS_128,
    CLASS_AFFINE_32, /* rows with an Affine before them: affine.c makes registers of these classes */
    CLASS_AFFINE_64
} RegisterClass;

enum {
    FLAG_E_WRITTEN = 1,   /* e is a destination */
    FLAG_PURE = 2,        /* dead when its results have no use */
    FLAG_GUARD_NOT = 4,   /* runs where the guard is false */
    FLAG_COPY = 8,        /* d = a, the bits as they are */
    FLAG_BRANCH = 16, /* goes to `target` if predicate a (or with MODS_NEGATE not a) holds, or is absent */
    FLAG_TABLE = 32, /* goes to one of the targets of its table */
    FLAG_ENDS = 64, /* the next instruction is not reached from here */
    FLAG_D_READ = 128, /* d is a source, too */
    FLAG_NO_ROUNDING = 256, /* a product or sum of floats that names no rounding */
    FLAG_CUTS = 512 /* a GPU's compiler expands it to several basic blocks (select/cuts.c) */
};

typedef struct LowerInsn {
    uint16_t op, mods;
    uint16_t flags;
    uint16_t more_count; /* operands in LowerFunction.refs from `more` on */
    uint16_t more_written; /* how many of these, the first ones, are destinations */
    Ref d, a, b, c, e;
    Ref guard; /* REF_ABSENT: none */
    uint32_t more;
    uint32_t line;
    union {
        int64_t imm;
        uint32_t target; /* a block, or before blocks.c a label */
        const void *pointer;
        struct LowerTable *table;
    };
} LowerInsn;

/* A jump table on its way to a CodeTable. */
typedef struct LowerTable {
    uint32_t count;
    uint32_t *targets; /* blocks, or before blocks.c labels */
    CodeTable *code;
} LowerTable;

typedef struct LowerBlock {
    uint32_t first, count; /* instructions */
    uint32_t position; /* in the order of order.c; NO_BLOCK if the block cannot be reached */
} LowerBlock;
#define NO_BLOCK UINT32_MAX

/* The parts of a frame, in their order: each has rows of one size. Those of 128 bits are two of 64. */
enum { POOL_PREDICATE, POOL_16, POOL_32, POOL_64, POOL_AFFINE_32, POOL_AFFINE_64, FRAME_POOLS };

/* The range of instructions in which a virtual register is live, both ends included. It is empty if first is
 * above last, or both are UINT32_MAX. */
typedef struct LiveRange {
    uint32_t first, last;
} LiveRange;

typedef struct LowerFunction {
    Arena *scratch; /* owns all arrays of the function */
    LowerInsn *insns;
    uint32_t insn_count, insn_capacity;
    Ref *refs;
    uint32_t ref_count, ref_capacity;
    uint8_t *classes; /* RegisterClass of each virtual register */
    uint32_t register_count, register_capacity;
    uint32_t *labels; /* until blocks.c: the index of the instruction that each label stands before */
    uint32_t label_count;
    LowerBlock *blocks; /* from blocks.c on; block 0 is the entry */
    uint32_t block_count;
    uint32_t *start, *next; /* successors of blocks, as in BlockGraph */
    LiveRange *ranges; /* by register */
    Ref *rows; /* from registers.c on: by register, if its range is not empty */
    uint32_t *places; /* from emit.c on: by instruction, its index in the decoded code */
    uint32_t pools[FRAME_POOLS]; /* bytes of each pool of the frame: see registers.c */
    uint32_t frame_size; /* bytes */
    uint32_t peak_rows; /* rows of 32 bits or less that the frame holds; those of 64 bits count twice */
} LowerFunction;

/* The number of a virtual register. */
static inline uint32_t ref_number(Ref ref) { return ref & REF_OFFSET_MASK; }

/* Calls visit() for each virtual register that an instruction names, which it may replace. A
 * guarded destination is read, too, since the lanes that the guard leaves out keep their
 * value. d comes last, but e and the further operands may be destinations or sources: a
 * visitor must not expect all reads before all writes. */
typedef void (*RegisterVisitor)(void *closure, Ref *ref, bool read, bool written);
static inline void lower_visit(LowerFunction *f, LowerInsn *i, RegisterVisitor visit, void *closure)
{
    bool keeps = i->guard != REF_ABSENT;
    Ref *sources[] = {&i->guard, &i->a, &i->b, &i->c};
    for (int s = 0; s < 4; s++)
        if (ref_is_register(*sources[s])) visit(closure, sources[s], true, false);
    bool e_written = i->flags & FLAG_E_WRITTEN;
    if (ref_is_register(i->e)) visit(closure, &i->e, !e_written || keeps, e_written);
    for (uint32_t m = 0; m < i->more_count; m++) {
        bool written = m < i->more_written;
        if (ref_is_register(f->refs[i->more + m]))
            visit(closure, &f->refs[i->more + m], !written || keeps, written);
    }
    if (ref_is_register(i->d)) visit(closure, &i->d, keeps || (i->flags & FLAG_D_READ), true);
}

/* A new virtual register. */
Ref lower_new_register(LowerFunction *f, RegisterClass class);
/* Gives the function a new, empty list of instructions of that capacity. The old one stays where it is. */
void lower_reserve(LowerFunction *f, uint32_t capacity);
/* Appends an instruction, which the caller fills in. */
static inline LowerInsn *lower_add_insn(LowerFunction *f)
{
    f->insns = arena_grow(f->scratch, f->insns, f->insn_count, &f->insn_capacity, sizeof *f->insns);
    return &f->insns[f->insn_count++];
}
/* Appends an instruction with all operands absent. */
LowerInsn *lower_new_insn(LowerFunction *f, uint16_t op, uint32_t line);
/* Appends operands for LowerInsn.more. Returns the index of the first. */
uint32_t lower_new_refs(LowerFunction *f, const Ref *refs, uint32_t count);

/* The passes over one function (passes/), in their order between selection and code (pipeline.c). */
void lower_blocks(LowerFunction *f); /* labels and branches to blocks in order, with jumps */
void lower_copies(LowerFunction *f); /* copy propagation */
void lower_contract(LowerFunction *f); /* FMA contraction */
void lower_dead(LowerFunction *f); /* dead code elimination */
void lower_spins(LowerFunction *f); /* loops that wait for memory */
void lower_affine(LowerFunction *f); /* affine rows; of kernels only */
void lower_fuse(LowerFunction *f); /* fused operations before the instructions that they run */
void lower_liveness(LowerFunction *f); /* live ranges */
bool lower_registers(LowerFunction *f); /* virtual registers to rows; false if the frame is too large */

#endif
