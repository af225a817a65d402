/* What all passes of one lowering share, and the passes over the whole module. */
#ifndef DEVICE_LOWER_MODULE_H
#define DEVICE_LOWER_MODULE_H

#include "ptx/arena.h"
#include "lower/ir.h"
#include "lower/lower.h"

/* A module with the memory it lives in. */
typedef struct OwnedModule {
    CodeModule code;       /* first: the address handed out */
    Arena arena;
    jmp_buf on_failure;    /* while it is being made */
} OwnedModule;

/* The row of an immediate, which has the value in all lanes. There is one for each value and class. */
typedef struct ConstantRow {
    uint64_t low, high;
    Ref ref;
    uint8_t class;         /* RegisterClass + 1, 0: free */
} ConstantRow;
typedef struct Constants {
    ConstantRow *table;    /* hash, open addressing */
    uint32_t table_size, count;
    uint32_t size;         /* bytes of all rows, which are filled when all are known */
} Constants;

/* A function's place in the call graph and what it uses of shared memory. */
typedef struct FunctionFacts {
    const PtxFunction *tree;
    CodeFunction *code; /* its own or its alias's; NULL: provided by the device or unknown */
    uint32_t *callees; /* ids of the functions it calls or takes the address of */
    uint32_t callee_count, callee_capacity;
    uint32_t *shared; /* ids of the module's .shared variables that it names */
    uint32_t shared_count, shared_capacity;
    bool calls_unknown; /* through a register */
    bool address_taken;
    bool needs_shared; /* it or what it calls names .shared variables */
    bool uses_dynamic; /* names an extern .shared array */
    uint32_t dynamic_align;
    bool grid_sync; /* reads %envreg1 or 2, as the grid barrier of cooperative groups does */
    bool texture_references; /* names a .texref */
    bool graph_launches; /* calls cudaGraphLaunch, by any of its names */
    uint32_t entry; /* index among the entries, NO_ENTRY */
    uint64_t *shared_offset; /* of its own .shared variables, by variable id */
    uint32_t pools[FRAME_POOLS]; /* bytes of the pools of its frame */
    uint64_t dynamic_shared; /* where extern .shared arrays start */
} FunctionFacts;
#define NO_ENTRY UINT32_MAX

typedef struct AluPattern AluPattern;

typedef struct Lower {
    const PtxModule *tree;
    const LowerHost *host;
    PtxLog *log;
    OwnedModule *owned;
    CodeModule *code;
    Arena *keep; /* owned->arena */
    Arena scratch; /* for the whole lowering */
    Arena body; /* for one function, reused for the next */
    FunctionFacts *functions; /* by PtxFunction.id */
    uint64_t
        *addresses; /* by id of the module's variables: in memory, a .shared or .local offset, NO_ADDRESS */
    uint64_t local_size; /* of the module's .local variables, which each thread has before its frames */
    uint64_t **reach; /* by entry: the set of functions that it may run, a bit for each id */
    uint32_t entry_count;
    const AluPattern **alu_patterns; /* by PtxForm.id */
    Constants constants;
} Lower;

/* The operation of that name, which the caller made of a mnemonic; OP_COUNT if there is none. */
uint16_t lower_find_op(const char *name);

/* The row of a constant. A predicate's value is 0 or 1. */
Ref lower_constant(Lower *lower, RegisterClass class, uint64_t low, uint64_t high);

/* Whether the module has the memory of a variable. An .extern variable that nothing defines gets memory if it
 * has a size and modules are not linked, as with ptxas. Without a size it is dynamic shared memory, or its
 * definition is missing. */
static inline bool lower_owns(const Lower *lower, const PtxVariable *v)
{
    if (v->space == PTX_SPACE_SHARED) return v->size != 0;
    return v->defined || (v->size && !lower->tree->part_count);
}

#define NO_ADDRESS UINT64_MAX
/* The function itself, or if it is an alias the one that it stands for. */
const PtxFunction *lower_aliased(const PtxFunction *function);
/* Whether some entry may run the function with that id. */
bool lower_reached(const Lower *lower, uint32_t function);
/* Whether the device has a function of that name of its own. */
bool lower_is_provided(const char *name);
/* Whether it is the function of that name by which kernels launch graphs. */
bool lower_launches_graphs(const char *name);
/* How many registers a thread of the kernel may use, as its directives say. */
uint32_t lower_register_limit(const PtxFunction *kernel);
/* Whether that entry may run the function with that id. */
static inline bool lower_reaches(const Lower *lower, uint32_t entry, uint32_t function)
{
    return lower->reach[entry][function / 64] >> (function % 64) & 1;
}

/* The passes over the module before its functions get code, in their order. */

/* Makes a CodeFunction for every function with a body, the call graph, and what each entry reaches. */
void lower_call_graph(Lower *lower);
/* An error in the log for each symbol that is used and nowhere defined. */
void lower_undefined(Lower *lower);
/* Allocates and initializes the module's variables. */
void lower_symbols(Lower *lower);
/* After a failure: releases what lower_symbols() has allocated. */
void lower_release_symbols(Lower *lower);
/* Offsets of .shared variables, and shared_size of the entries. */
void lower_shared_memory(Lower *lower);

/* The first and the last passes over a function; those between are in ir.h. */

/* Instruction selection: PTX instructions to operations on virtual registers; false after an error. */
bool lower_select(Lower *lower, FunctionFacts *facts, LowerFunction *f);
/* Decoded code: code->insns. */
void lower_emit(Lower *lower, LowerFunction *f, CodeFunction *code);
/* The registers of the PTX text, for messages: code->registers. */
void lower_names(Lower *lower, const PtxFunction *tree, const LowerFunction *f, CodeFunction *code);
/* Finds how blocks of a kernel can be run as a whole: code->elementwise. */
void lower_elementwise(Lower *lower, CodeFunction *code);
/* Finds how far a block's warps can be run in lockstep: code->lockstep. */
void lower_lockstep(Lower *lower, LowerFunction *f, CodeFunction *code);

/* The passes over the module after its functions have code. */

/* Gives the frames of all functions that are called one layout. */
void lower_share_frames(Lower *lower);
/* Sets what each entry needs together with all functions that it reaches: stack, barriers, registers. */
void lower_entry_needs(Lower *lower);
/* Fills the rows of all constants. */
void lower_finish_constants(Lower *lower);

/* The next multiple of `align`; the value itself if `align` is 0. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
    return align ? (value + align - 1) / align * align : value;
}

#endif
