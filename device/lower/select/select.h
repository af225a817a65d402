/* Selection: PTX instructions to operations. One file a family; each select_* takes the instruction in
 * Select.insn. */
#ifndef DEVICE_LOWER_SELECT_SELECT_H
#define DEVICE_LOWER_SELECT_SELECT_H

#include "lower/module.h"

/* The place of a .param or .local variable in local memory. */
typedef struct LocalPlace {
    enum { PLACE_NONE, PLACE_FRAME, PLACE_OUTGOING } kind;
    uint32_t offset;   /* FRAME: in this function's frame; OUTGOING: in the frame of the function called */
} LocalPlace;

typedef struct Select {
    Lower *lower;
    const FunctionFacts *facts;
    const PtxFunction *tree;
    CodeFunction *code;
    LowerFunction *f;
    const PtxInsn *insn;
    Ref guard;             /* of the instructions that are appended; REF_ABSENT: none */
    uint16_t guard_flag;   /* FLAG_GUARD_NOT or 0 */
    uint32_t line;         /* index into lines, of insn */
    uint32_t label_capacity; /* of LowerFunction.labels */
    LocalPlace *places;    /* by variable id */
    LocalPlace *returns, *params; /* of a function that is not a kernel */
    uint32_t *param_offsets; /* of a kernel, in its parameter buffer */
    uint32_t local_size;   /* bytes of local memory of a lane's frame */
    CodeLine *lines;       /* these tables become those of CodeFunction */
    uint32_t line_count, line_capacity;
    CodeParamLoad *loads;
    uint32_t load_count, load_capacity;
    uint32_t barrier_count;
    bool failed;
} Select;

/* An error at a column of the instruction (0: at its start). The message starts with the mnemonic. */
void select_error(Select *s, uint32_t column, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error at the instruction, or at a column of it: `what` ("": the instruction) is not supported by the CPU
 * device, and the reason that ptx/refused.def has. */
void select_unsupported(Select *s, const char *what);
void select_unsupported_at(Select *s, uint32_t column, const char *what);

static inline RegisterClass class_of_bits(unsigned bits)
{
    return bits <= 1    ? CLASS_PREDICATE
           : bits <= 16 ? CLASS_16
           : bits <= 32 ? CLASS_32
           : bits <= 64 ? CLASS_64
                        : CLASS_128;
}
/* The class of registers that hold values of the type. */
static inline RegisterClass class_of(PtxType type) { return class_of_bits(ptx_type_bits(type)); }
static inline bool is_float(PtxType type) { return ptx_types[type].class == PTX_FLOAT; }
static inline bool is_signed(PtxType type) { return ptx_types[type].class == PTX_SIGNED; }
enum { F32_ONE = 0x3f800000, F16_ONE = 0x3c00, BF16_ONE = 0x3f80 }; /* the bits of 1.0 */

/* The rounding mode that a form names, as MODS_*; to nearest even if it names none. */
static inline uint16_t rounding_mods(const PtxForm *form)
{
    switch (form->group[PTX_GROUP_ROUND]) {
    case PTX_MOD_rz: return MODS_RZ;
    case PTX_MOD_rm: return MODS_RM;
    case PTX_MOD_rp: return MODS_RP;
    default: return MODS_RN;
    }
}

/* The operand with that index; one of kind NONE if there are not so many. */
static inline const PtxOperand *operand_at(const Select *s, uint32_t index)
{
    static const PtxOperand none;
    return index < s->insn->operand_count ? &s->insn->operands[index] : &none;
}

/* The elements of a vector, and how many; of any other operand itself, as one. */
static inline const PtxOperand *elements_of(const PtxOperand *operand, uint32_t *count)
{
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    *count = vector ? operand->count : 1;
    return vector ? operand->items : operand;
}

/* Appends an instruction under the guard of the PTX instruction. */
LowerInsn *select_emit(Select *s, uint16_t op);
/* Appends an instruction without side effects, whose result d is a new register. It needs no guard. */
LowerInsn *select_temp(Select *s, uint16_t op, RegisterClass class);
/* As select_temp(), with its sources. Returns the result. If `op` is
 * OP_COUNT that is an error: not supported. */
Ref select_compute(Select *s, uint16_t op, RegisterClass class, Ref a, Ref b, Ref c);
/* d = a of the same class. */
void select_copy(Select *s, Ref d, Ref a);
/* As select_copy(), for a value that has no other use. If the last
 * instruction computed it, that one writes d instead. */
void select_deliver(Select *s, Ref d, Ref value);
/* For instructions that cannot have a guard: what is appended between select_guarded_begin() and
 * select_guarded_end() has none, and a branch skips it in lanes where the guard is false. */
typedef struct GuardedBlock {
    bool open; /* there is a guard */
    uint32_t label; /* at the end */
    Ref guard;
    uint16_t flag;
} GuardedBlock;
GuardedBlock select_guarded_begin(Select *s);
void select_guarded_end(Select *s, GuardedBlock guarded);

/* --- cuts.c --- */
/* Whether ptxas expands an instruction to several basic blocks: FLAG_CUTS. */
bool select_cuts(const PtxInsn *insn);

/* The class of a virtual register. */
RegisterClass select_class(const Select *s, Ref ref);
/* The value of an operand as `type`, in a row of that type's class. */
Ref select_source(Select *s, const PtxOperand *operand, PtxType type);
/* A predicate operand; a negated one is computed first. */
Ref select_predicate(Select *s, const PtxOperand *operand);
/* The code of the function that an operand names; NULL and an error if it has none. */
const CodeFunction *select_function(Select *s, const PtxOperand *operand);
/* The register that is written, which must be of that class; a new one for a sink. */
Ref select_dest(Select *s, const PtxOperand *operand, RegisterClass class);
/* As select_dest(), but absent for a sink or no operand. */
Ref select_optional_dest(Select *s, const PtxOperand *operand, RegisterClass class);
/* An entry of a table of operations, in which absent entries are 0 (OP_guard, which
 * no table has); OP_COUNT if it is absent. */
_Static_assert(OP_guard == 0, "no table has a guard");
static inline uint16_t op_or_none(uint16_t op) { return op ? op : OP_COUNT; }
/* The operations that clamp a result under .sat, and under .relu; OP_COUNT if there is none. */
uint16_t select_sat_op(PtxType type);
uint16_t select_relu_op(PtxType type);

/* An address operand: offset, plus row unless that is absent, in a space. */
typedef struct Address {
    Ref row;
    int64_t offset;
    PtxSpace space; /* SHARED, LOCAL, PARAM of a kernel, or GLOBAL for generic, global and const */
    bool narrow; /* the row has 32 bits */
    bool relative; /* LOCAL: the offset counts from the start of the function's frame */
} Address;
/* Address.space for an access by a register. The .param of a kernel is then global memory, where its
 * parameter buffer is; that of a function is local memory. */
PtxSpace select_space(const Select *s, PtxSpace space);
/* Fills in an address operand of an instruction for `space` (NONE: generic). False after an error. */
bool select_address(Select *s, const PtxOperand *operand, PtxSpace space, Address *address);
/* An address as a value: the row with the offset added. *wide: whether it has 64 bits, not 32. */
Ref select_address_value(Select *s, const Address *address, bool *wide);
/* An address operand as a value of 64 bits; absent after an error. *shared: whether it is an offset in shared
 * memory; shared may be NULL. */
Ref select_wide_address(Select *s, const PtxOperand *operand, PtxSpace space, bool *shared);
/* The address of a variable in its own space: a constant of that class, or a register of 64 bits. */
Ref select_variable_address(Select *s, const PtxOperand *operand, RegisterClass class);
/* The row of the value that a load of the kernel's parameters gives, the same in all lanes. `is_signed`: a
 * value of fewer bits than the class is extended by its sign. */
Ref select_param_row(Select *s, uint32_t offset, unsigned bytes, RegisterClass class, bool is_signed);
/* Places the .param variables that are arguments or results of calls in the frames of the functions
 * called. */
void select_call_places(Select *s);
/* Parameters and results of a function that are registers: loads the ones at its
 * start, stores the others before it returns. */
void select_take_parameters(Select *s);
void select_return_results(Select *s);
/* Places variables in local memory, and a kernel's parameters in their buffer. */
void select_frame(Select *s);
/* Lays out a call's results, then its arguments, in the frame of the function called. Fills the places;
 * returns the bytes. */
uint32_t select_call_layout(PtxVariable **returns, uint32_t return_count, PtxVariable **params,
                            uint32_t param_count, LocalPlace *return_places, LocalPlace *param_places);
/* The operation for an element of `type` in memory and registers of `class`; OP_COUNT if there is none.
 * `vector`: it moves several elements. */
uint16_t select_load_op(PtxSpace space, bool vector, PtxType type, RegisterClass class);
uint16_t select_store_op(PtxSpace space, bool vector, PtxType type, RegisterClass class);

/* The families. */
void select_alu(Select *s);
bool select_has_operation(Select *s); /* whether select_alu() has an operation for the instruction */
void select_minmax(Select *s);
void select_mov(Select *s);
void select_lop3(Select *s);
void select_setp(Select *s);
void select_set(Select *s);
void select_cvt(Select *s);
void select_ld(Select *s);
void select_st(Select *s);
void select_cvta(Select *s);
void select_isspacep(Select *s);
void select_cluster_address(Select *s); /* mapa, getctarank */
void select_stack(Select *s);
void select_atom(Select *s);
void select_bra(Select *s);
void select_brx(Select *s);
void select_end(Select *s);
void select_bar(Select *s);
void select_trap(Select *s); /* trap, brkpt */
void select_fence(Select *s);
void select_tensormap(Select *s);
void select_nothing(Select *s);
void select_nanosleep(Select *s);
void select_shfl(Select *s);
void select_vote(Select *s);
void select_match(Select *s);
void select_redux(Select *s);
void select_elect(Select *s);
void select_activemask(Select *s);
void select_call(Select *s);
void select_cp(Select *s);
void select_tensor_copy(Select *s);
void select_mbarrier(Select *s);
/* The operation of atom.what.type; OP_COUNT if there is none. */
uint16_t select_atomic_op(PtxModifier what, PtxType type);
/* st.async, red.async: completes so many bytes at the mbarrier of operand 2. */
void select_complete_tx(Select *s, uint32_t bytes);
void select_mma(Select *s);
void select_wmma(Select *s);
void select_wgmma(Select *s);
void select_tiles(Select *s); /* ldmatrix, stmatrix */
void select_movmatrix(Select *s);
void select_tex(Select *s);
void select_tld4(Select *s);
void select_txq(Select *s);
void select_suld(Select *s);
void select_sust(Select *s);
void select_sured(Select *s);
void select_istypep(Select *s);
void select_createpolicy(Select *s);
void select_cache_line(Select *s); /* discard, applypriority */
void select_video(Select *s);
void select_video2(Select *s);
void select_video4(Select *s);
void select_vmad(Select *s);
void select_pack(Select *s); /* cvt.pack */

#endif
