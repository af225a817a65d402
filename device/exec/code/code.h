/* Decoded code: what lower/ makes of a checked PTX tree and what exec/ runs.
 *
 * A function is a flat array of Insn, blocks laid out in weak topological order (Bourdoncle), so that
 * running the lowest pc first makes diverged lanes reconverge at the post-dominator. Operands are
 * references to rows: a row holds one value for each of the 32 lanes of a warp ([row][lane]).
 */
#ifndef DEVICE_EXEC_CODE_CODE_H
#define DEVICE_EXEC_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/code/affine.h"
#include "exec/code/ops.h"
#include "exec/code/wide.h"

enum { WARP_LANES = 32 };

typedef struct Grid Grid;
typedef struct Warp Warp;
typedef struct Insn Insn;
typedef struct CodeFunction CodeFunction;
typedef struct CodeModule CodeModule;

/* Runs one instruction for the lanes of warp->mask; returns the next instruction, or NULL when the warp
 * must leave the run loop (all groups parked, exited, out of fuel, or a fault was recorded). */
typedef const Insn *(*OpFn)(Warp *warp, const Insn *insn);

/* Operand reference: the top three bits choose a base of the warp, the rest is a byte offset from it.
 * A row of 32-bit elements takes 128 bytes, of 64-bit 256, of 16-bit 64 (in a slot of 128), of 128-bit 512
 * (two 64-bit rows: low halves, then high halves). A predicate is one uint32_t, bit l for lane l. */
typedef uint32_t Ref;
enum {
    REF_FRAME = 0, /* registers of the running function: warp->base[0], moves with the call depth */
    REF_CONST = 1, /* immediates of the module, pre-broadcast, read-only */
    REF_PARAM = 2, /* kernel parameters of this launch, pre-broadcast, read-only */
    REF_NONE = 3,  /* absent operand: reads as zeros */
    REF_WARP = 4,  /* rows of the warp: enum WarpRow, read-only */
    REF_BLOCK = 5, /* rows of the block, the same in all lanes: enum BlockRow, read-only */
    REF_BASES
};
#define REF_BASE_SHIFT 29
#define REF_OFFSET_MASK 0x1fffffffu
#define REF_MAKE(base, offset) (((uint32_t)(base) << REF_BASE_SHIFT) | (uint32_t)(offset))
#define REF_ABSENT REF_MAKE(REF_NONE, 0)
static inline bool ref_is_register(Ref ref) { return ref >> REF_BASE_SHIFT == REF_FRAME; }
/* Whether the operand is a value that is the same for all threads of the block (a constant, a parameter
 * or a row of the block), not a register. */
static inline bool ref_is_value(Ref ref)
{
    const uint32_t base = ref >> REF_BASE_SHIFT;
    return base == REF_CONST || base == REF_PARAM || base == REF_BLOCK;
}

/* Special registers that are rows already: nothing runs to read them. Axes x, y, z are consecutive. */
enum WarpRow { WARP_ROW_TID = 0, WARP_ROW_LANEID = 3, WARP_ROWS = 4 };
enum BlockRow { BLOCK_ROW_CTAID = 0, BLOCK_ROW_NTID = 3, BLOCK_ROW_NCTAID = 6, BLOCK_ROWS = 9 };
#define REF_ROW_32(base, row) REF_MAKE(base, sizeof(SpecialRow) * (row) + offsetof(SpecialRow, lane))

/* Reserved shared memory: bytes after the kernel's own, in modules whose functions ask where they are (CUDA's
 * cooperative groups keep 288 bytes for tiles of several warps in their second half). */
enum { RESERVED_SHARED = 1024, RESERVED_SHARED_ALIGN = 128 };

/* What %clusterid and the like read, one value for a block. Axes x, y, z are consecutive. */
enum ClusterPlace {
    CLUSTER_ID = 0,
    CLUSTER_COUNT = 3,
    CLUSTER_CTAID = 6,
    CLUSTER_NCTAID = 9,
    CLUSTER_RANK = 12,
    CLUSTER_SIZE = 13,
    CLUSTER_EXPLICIT = 14
};

/* A row of enum WarpRow or BlockRow. */
typedef struct SpecialRow {
    Affine affine;
    uint32_t lane[32];
} SpecialRow;

struct Insn {
    OpFn run[2]; /* [0] some lanes (blend), [1] all 32 lanes; filled by exec_bind for the host's ISA */
    Ref d, a, b, c; /* destination and sources */
    union {
        int64_t imm; /* address offset, small constants */
        const Insn *target; /* branch target */
        const void *pointer; /* CodeFunction *, CodeTable *, ... as the op says */
    };
    Ref e; /* second destination or fifth operand */
    uint32_t more; /* index into CodeFunction.refs of further operands (vectors, calls) */
    uint32_t line; /* index into CodeFunction.lines: PTX line and, where .loc is there, source line */
    uint16_t op; /* enum Op of ops.h */
    uint16_t mods; /* modifier bits of MODS_*, or what the op says */
};

/* Modifier bits of Insn.mods for the general form of an arithmetic op (OP_x_mods in exec/code/alu.def). */
enum {
    MODS_RN = 0,
    MODS_RZ = 1,
    MODS_RM = 2,
    MODS_RP = 3,
    MODS_RNA = 4,
    MODS_RS = 5,
    MODS_ROUND = 7, /* the mask of the bits with the rounding mode, which is one of those above */
    MODS_FTZ = 1 << 3,
    MODS_SAT = 1 << 4,
    MODS_APPROX = 1 << 5,
    MODS_FULL = 1 << 6, /* div.full */
    MODS_NAN = 1 << 7, /* min/max .NaN */
    MODS_XORSIGN = 1 << 8,
    MODS_ABS = 1 << 9,
    MODS_RELU = 1 << 10,
    MODS_OOB = 1 << 11,
    MODS_SATFINITE = 1 << 12,
    MODS_INTEGER = 1 << 13, /* cvt .rni .rzi .rmi .rpi: round to an integral value */
    MODS_NEGATE = 1 << 14 /* negate a predicate operand (guard, branch, selp by !p) */
};

/* Modifier bits of Insn.mods for memory operations (exec/code/core.def). */
enum {
    MEM_COUNT = 15, /* a mask: elements of a vector access, 2, 4 or 8; 0 for a single element */
    MEM_ADDR32 = 1 << 4, /* the address row is 32 bits wide */
    MEM_SHARED = 1 << 5, /* atomics: the address is an offset in shared memory */
    MEM_STRONG = 1 << 6, /* volatile, relaxed, acquire, release: seen by other threads, never split */
    MEM_ATOMIC = 1 << 7, /* with MEM_STRONG: relaxed, acquire or release, not volatile */
    MEM_COHERENT = 1 << 8, /* in code that is checked for races: through a cache that all blocks share */
    MEM_RELEASE = 1 << 9 /* in code that is checked for races: an atomic operation that is a fence too */
};

/* The address that an address operand and the immediate make. One of 32 bits wraps around, as offsets in
 * shared and local memory do: compilers use bases below zero which the immediate makes positive. */
static inline uint64_t memory_offset(const Insn *insn, uint64_t address)
{
    const uint64_t sum = address + (uint64_t)insn->imm;
    return insn->mods & MEM_ADDR32 ? (uint32_t)sum : sum;
}

/* A bit of Insn.mods of bra_p, as is MODS_NEGATE: between the branch and its target are only a few
 * instructions, each of which may be guarded. So they can be run under a mask, without dividing the
 * group. */
enum { BRA_OVER = 1 };

/* A bit of Insn.mods of fences: other blocks need not see what comes before. */
enum { FENCE_BLOCK = 1 };

/* A bit of Insn.mods of the block's barriers: the lanes of a warp may arrive one by one (barrier without
 * .aligned). */
enum { BAR_UNALIGNED = 1 };

/* What a module's kernels are checked for, besides memory errors (check.h). */
enum {
    CHECK_RACE = 1,
    CHECK_INIT = 2,
    CHECK_INIT_SHARED = 4,
    CHECK_SYNC = 8,
    CHECK_ACCESSES = CHECK_RACE | CHECK_INIT | CHECK_INIT_SHARED
};

/* The source position of an instruction. */
typedef struct CodeLine {
    uint32_t ptx_line;
    uint32_t file; /* index into CodeModule.files, 0 = none */
    uint32_t source_line;
} CodeLine;

/* A jump table (brx.idx) or call-target list. */
typedef struct CodeTable {
    uint32_t count;
    union {
        const Insn **targets;
        const CodeFunction **functions;
    };
} CodeTable;

typedef struct CodeParam {
    uint32_t offset, size, align; /* bytes in the kernel's parameter buffer */
    bool is_integer, is_float; /* a number as the text declares it; pointers may be called integers */
    bool is_structure; /* declared as an array of bytes */
} CodeParam;

/* A scalar of the parameter buffer kept as a pre-broadcast row: what an ld.param at a fixed offset reads. */
typedef struct CodeParamLoad {
    uint32_t offset; /* in the parameter buffer */
    uint32_t row; /* byte offset in the launch's REF_PARAM rows */
    uint8_t size; /* bytes read: 1, 2, 4 or 8 */
    uint8_t element; /* bytes of an element of the row: 2, 4 or 8, at least size */
    bool is_signed; /* widened by the sign, else by zeros */
    bool affine; /* an Affine stands before the row (affine.h) */
} CodeParamLoad;

/* A register of the PTX text that has a row of the frame, for messages. */
typedef struct CodeRegister {
    const char *name; /* "%r" for %r7 of a range */
    uint32_t number; /* of a range; UINT32_MAX for a single name */
    Ref row;
    uint32_t first, last; /* instructions: the row has its value after the first one and up to the last one */
    uint8_t bits; /* 1: a predicate */
    bool is_float, affine; /* affine: an Affine stands before the row (affine.h) */
} CodeRegister;

/* A variable in a kernel's shared memory. */
typedef struct CodeShared {
    const char *name;
    uint64_t offset, size;
} CodeShared;

struct CodeFunction {
    const char *name;
    CodeModule *module;
    bool is_entry;
    Insn *insns;
    uint32_t insn_count;
    uint32_t first_insn; /* of a checked module: how many the functions before it have */
    Ref *refs;
    uint32_t ref_count;
    CodeLine *lines;
    uint32_t line_count;
    uint32_t frame_size; /* bytes of rows a frame takes, a multiple of 128 */
    uint32_t local_size; /* bytes of local memory a lane's frame takes (depot, call parameters), 16-aligned */
    uint32_t shared_size; /* static shared memory of all that an entry reaches */
    CodeRegister *registers;
    uint32_t register_count;
    CodeShared *shared; /* of a checked module: what lies there, for messages */
    uint32_t shared_count;
    CodeParam *params;
    uint32_t param_count;
    uint32_t param_size; /* bytes of the parameter buffer */
    CodeParamLoad *param_loads;
    uint32_t param_load_count; /* fill every REF_PARAM row of a launch */
    uint32_t param_rows_size; /* bytes of REF_PARAM rows */
    uint32_t maxntid[3], reqntid[3]; /* 0 when not given */
    uint32_t cluster[3], max_cluster; /* blocks of a cluster: as required, at most; 0 when not given */
    bool requires_cluster; /* a cluster must be given, here or by the launch */
    bool blocks_are_clusters; /* a launch counts clusters, not blocks */
    uint32_t barrier_count; /* named barriers used, at least 1 when bar is used */
    uint32_t register_estimate; /* live 32-bit rows at the peak, shown as NUM_REGS */
    uint32_t stack_size; /* local bytes a lane needs with all it calls, of exec_bind; UINT32_MAX: not known */
    const struct CodeElementwise *elementwise; /* NULL: blocks do not run as a whole (elementwise.h) */
    const struct CodeLockstep *lockstep; /* NULL: warps do not start in lockstep (lockstep.h) */
    bool uses_grid_sync; /* reads %envreg1/2 or barrier state that needs all blocks resident */
    bool uses_texture_references; /* of the module: itself, or what it calls */
    bool launches_graphs; /* itself, or what it calls */
};

typedef struct CodeGlobal {
    const char *name;
    uint64_t address; /* in the device's memory; the generic address as well */
    uint64_t size, align;
    bool is_const, is_managed;
    uint8_t *initial; /* size bytes, or NULL for zeros: kept so that a reset can restore it */
} CodeGlobal;

/* A variable .texref or .surfref. Its handle in code is its number in the module, from 1: GridLaunch.bindings
 * says what it is bound to. */
typedef struct CodeReference {
    const char *name;
    bool surface;
} CodeReference;

struct CodeModule {
    CodeFunction **functions;
    uint32_t function_count; /* entries first */
    uint32_t entry_count;
    CodeGlobal *globals;
    uint32_t global_count;
    CodeReference *references;
    uint32_t reference_count;
    const char **files;
    uint32_t file_count; /* [0] = "" */
    uint8_t *constants;
    uint32_t constants_size; /* REF_CONST rows, 64-byte aligned */
    int ptx_version, target; /* 90 for 9.0, 75 for sm_75 */
    bool debug_lines;
    bool reserves_shared; /* a function reads where the reserved shared memory is */
    unsigned checks; /* CHECK_* */
    const OpFn (*handlers)[2]; /* chosen by exec_bind: for each operation those of some and of all lanes */
    const WideTable *wide; /* chosen by exec_bind, for the same instruction set */
};

/* Makes a module executable: sets stack_size of its functions, handlers and wide for the best instruction set
 * of this host (or PYCUDA_CPU_ISA's), run[] of every instruction from these; with checks, replaces run[] of
 * checked instructions by functions that check and then call the handler. */
void exec_bind(CodeModule *module);

/* Sets stack_size of every function; exec_bind calls it. */
void exec_measure(CodeModule *module);

/* The elements of a vector load that are read: `count` elements from number `first` on, without those at
 * either end that have no destination, which need not be in valid memory. Strong loads read all. */
typedef struct VectorPart {
    uint32_t first, count;
} VectorPart;
static inline VectorPart vector_part(const CodeFunction *function, const Insn *i)
{
    const uint32_t count = i->mods & MEM_COUNT;
    const Ref *refs = function->refs + i->more;
    VectorPart part = {0, count};
    if (i->mods & MEM_STRONG) return part;
    while (part.count && refs[part.count - 1] == REF_ABSENT) part.count--;
    while (part.first < part.count && refs[part.first] == REF_ABSENT) part.first++;
    part.count -= part.first;
    return part;
}

#endif
