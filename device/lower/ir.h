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
    CLASS_AFFINE_32,
    CLASS_AFFINE_64 /* with an Affine before it: made by affine.c */
} RegisterClass;

enum {
    FLAG_E_WRITTEN = 1,   /* e is a destination */
    FLAG_PURE = 2,        /* dead when its results have no use */
    FLAG_GUARD_NOT = 4,   /* runs where the guard is false */
    FLAG_COPY = 8,        /* d = a, the bits as they are */
    FLAG_BRANCH = 16,     /* goes to block `target`, if its predicate a says so */
    FLAG_TABLE = 32,      /* goes to one of the blocks of its table */
    FLAG_ENDS = 64,       /* the next instruction is not reached from here */
    FLAG_D_READ = 128,    /* d is read as well */
    FLAG_NO_ROUNDING = 256, /* a product or sum of floats that names no rounding */
    FLAG_CUTS = 512       /* a GPU's compiler makes several blocks of it */
};

typedef struct LowerInsn {
    uint16_t op, mods;
    uint16_t flags;
    uint8_t more_count;    /* operands in LowerFunction.refs from `more` on */
    uint8_t more_written;  /* how many of these, the first ones, are destinations */
    Ref d, a, b, c, e;
    Ref guard;             /* REF_ABSENT: none */
    uint32_t more;
    uint32_t line;
    union {
        int64_t imm;
        uint32_t target;       /* a block, or before blocks.c a label */
        const void *pointer;
        struct LowerTable *table;
    };
} LowerInsn;

/* A jump table on its way to a CodeTable. */
typedef struct LowerTable {
    uint32_t count;
    uint32_t *targets;     /* blocks, or before blocks.c labels */
    CodeTable *code;
} LowerTable;

typedef struct LowerBlock {
    uint32_t first, count; /* instructions */
    uint32_t position;     /* in the order, NO_BLOCK when not reached */
} LowerBlock;
#define NO_BLOCK UINT32_MAX

/* The frame: predicates, rows of 16, of 32, of 64 bits, affine rows of 32, of 64 bits. */
enum { FRAME_POOLS = 6 };

/* The range of instructions in which a virtual register is live, both ends included; first > last when it is
 * empty. */
typedef struct LiveRange {
    uint32_t first, last;
} LiveRange;

typedef struct LowerFunction {
    Arena *scratch;        /* all of this */
    LowerInsn *insns;
    uint32_t insn_count, insn_capacity;
    Ref *refs;
    uint32_t ref_count, ref_capacity;
    uint8_t *classes;      /* RegisterClass of each virtual register */
    uint32_t register_count, register_capacity;
    uint32_t *labels;      /* instruction at which each label stands */
    uint32_t label_count;
    LowerBlock *blocks;    /* after order.c in their order */
    uint32_t block_count;
    uint32_t *start, *next; /* successors, as in BlockGraph */
    LiveRange *ranges;
    uint32_t pools[FRAME_POOLS]; /* bytes of the frame's pools, one after another: see registers.c */
    uint32_t frame_size, peak_rows;
} LowerFunction;

/* The number of a register. */
static inline uint32_t ref_number(Ref ref) { return ref & REF_OFFSET_MASK; }

/* Calls back for each virtual register that an instruction names. A guarded destination is read as well,
 * since the lanes that the guard leaves out keep their value. */
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
/* An empty list of instructions of that capacity. */
void lower_reserve(LowerFunction *f, uint32_t capacity);
/* Appends an instruction, which the caller fills in. */
static inline LowerInsn *lower_add_insn(LowerFunction *f)
{
    f->insns = arena_grow(f->scratch, f->insns, f->insn_count, &f->insn_capacity, sizeof *f->insns);
    return &f->insns[f->insn_count++];
}
/* Appends an instruction with all operands absent. */
LowerInsn *lower_new_insn(LowerFunction *f, uint16_t op, uint32_t line);
/* Appends further operands. Returns the index of the first. */
uint32_t lower_new_refs(LowerFunction *f, const Ref *refs, uint32_t count);

/* The passes over one function (passes/), in their order between selection and code (pipeline.c). */
void lower_blocks(LowerFunction *f);      /* labels and branches to blocks in order, with jumps */
void lower_copies(LowerFunction *f);      /* copy propagation */
void lower_contract(LowerFunction *f);    /* FMA contraction */
void lower_dead(LowerFunction *f);        /* dead code elimination */
void lower_spins(LowerFunction *f);       /* loops that wait for memory */
void lower_affine(LowerFunction *f);      /* of kernels: affine rows */
void lower_fuse(LowerFunction *f);        /* fused operations before what they run */
void lower_liveness(LowerFunction *f);    /* live ranges */
bool lower_registers(LowerFunction *f); /* virtual registers to rows; false when the frame is too large */

#endif
