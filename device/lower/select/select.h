/* Selection: PTX instructions to operations. One file a family; each select_* takes the instruction in
 * Select.insn. */
#ifndef DEVICE_LOWER_SELECT_SELECT_H
#define DEVICE_LOWER_SELECT_SELECT_H

#include "lower/module.h"

/* The place of a .param or .local variable in local memory. */
typedef struct LocalPlace {
    enum { PLACE_NONE, PLACE_FRAME, PLACE_OUTGOING } kind;
    uint32_t offset;   /* FRAME: in the own frame; OUTGOING: in that of the function called */
} LocalPlace;

typedef struct Select {
    Lower *lower;
    const FunctionFacts *facts;
    const PtxFunction *tree;
    CodeFunction *code;
    LowerFunction *f;
    const PtxInsn *insn;
    Ref guard;             /* of what is emitted now */
    uint16_t guard_flag;   /* FLAG_GUARD_NOT or 0 */
    uint32_t line;         /* in CodeFunction.lines */
    uint32_t label_capacity;
    LocalPlace *places;    /* by variable id */
    LocalPlace *returns, *params; /* of a function that is not a kernel */
    uint32_t *param_offsets;      /* of a kernel, in its buffer */
    uint32_t local_size;
    CodeLine *lines;
    uint32_t line_count, line_capacity;
    CodeParamLoad *loads;
    uint32_t load_count, load_capacity;
    uint32_t barrier_count;
    bool failed;
} Select;

/* An error at the instruction (column 0: at its start), naming it first. */
void select_error(Select *s, uint32_t column, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "not supported": what no operation exists for. */
void select_unsupported(Select *s, const char *what);

static inline RegisterClass class_of_bits(unsigned bits)
{
    return bits <= 1    ? CLASS_PREDICATE
           : bits <= 16 ? CLASS_16
           : bits <= 32 ? CLASS_32
           : bits <= 64 ? CLASS_64
                        : CLASS_128;
}
static inline RegisterClass class_of(PtxType type) { return class_of_bits(ptx_type_bits(type)); }
static inline const PtxOperand *operand_at(const Select *s, uint32_t index)
{
    static const PtxOperand none;
    return index < s->insn->operand_count ? &s->insn->operands[index] : &none;
}

/* Appends an instruction under the guard of the PTX instruction. */
LowerInsn *select_emit(Select *s, uint16_t op);
/* Appends an instruction without side effects, whose result d is a new register. It needs no guard. */
LowerInsn *select_temp(Select *s, uint16_t op, RegisterClass class);
/* As select_temp(), with its sources. Returns the result. OP_COUNT is an error: not supported. */
Ref select_compute(Select *s, uint16_t op, RegisterClass class, Ref a, Ref b, Ref c);
/* d = a of the same class. */
void select_copy(Select *s, Ref d, Ref a);
/* As select_copy(), for a value that was computed just now and is used nowhere else: where possible it is
 * computed into d instead. */
void select_deliver(Select *s, Ref d, Ref value);
/* For instructions that cannot be guarded themselves: where the guard is false, a branch skips what was
 * appended between select_guarded_begin() and select_guarded_end(). */
typedef struct GuardedBlock {
    bool open;
    uint32_t label;
    Ref guard;
    uint16_t flag;
} GuardedBlock;
GuardedBlock select_guarded_begin(Select *s);
void select_guarded_end(Select *s, GuardedBlock guarded);

/* --- cuts.c --- */
/* Whether ptxas expands an instruction to several basic blocks. */
bool select_cuts(const PtxInsn *insn);

RegisterClass select_class(const Select *s, Ref ref);
/* The value of an operand as `type`, in a row of that type's class. */
Ref select_source(Select *s, const PtxOperand *operand, PtxType type);
/* A predicate operand; a negated one is computed first. */
Ref select_predicate(Select *s, const PtxOperand *operand);
/* The code of the function that an operand names; NULL and an error when there is none. */
const CodeFunction *select_function(Select *s, const PtxOperand *operand);
/* The register written; a new one for a sink. */
Ref select_dest(Select *s, const PtxOperand *operand, RegisterClass class);
/* As select_dest(), but absent for a sink or no operand. */
Ref select_optional_dest(Select *s, const PtxOperand *operand, RegisterClass class);
/* An entry of a table of operations, in which 0 (guard, which no table has) stands for none: OP_COUNT. */
_Static_assert(OP_guard == 0, "no table has a guard");
static inline uint16_t op_or_none(uint16_t op) { return op ? op : OP_COUNT; }
/* The operation that clamps a result under .sat and .relu; OP_COUNT when there is none. */
uint16_t select_sat_op(PtxType type);
uint16_t select_relu_op(PtxType type);

/* An address operand: row (or absent) plus offset in a space. */
typedef struct Address {
    Ref row;
    int64_t offset;
    PtxSpace space;        /* as resolved: GLOBAL for generic, global and const */
    bool narrow;           /* 32-bit row */
    bool relative;         /* LOCAL: the offset counts from the own frame */
} Address;
/* The space that exec/ accesses for a space of PTX. For .param, by a register, that is the memory of a
 * kernel's parameter buffer, or local memory. */
PtxSpace select_space(const Select *s, PtxSpace space);
bool select_address(Select *s, const PtxOperand *operand, PtxSpace space, Address *address);
/* An address as a value: the row with the offset added. *wide: it has 64 bits, else 32. */
Ref select_address_value(Select *s, const Address *address, bool *wide);
/* An address operand as a value of 64 bits. *shared: it is an offset in shared memory; shared may be NULL. */
Ref select_wide_address(Select *s, const PtxOperand *operand, PtxSpace space, bool *shared);
/* The address of a variable in its own space, as a value of 64 or, where it is a constant, fewer bits. */
Ref select_variable_address(Select *s, const PtxOperand *operand, RegisterClass class);
/* The row that holds, in all lanes, what a load of the kernel's parameters gives. */
Ref select_param_row(Select *s, uint32_t offset, unsigned bytes, RegisterClass class, bool is_signed);
/* Gives a .param variable that is an argument or result of calls its place in the frame called. */
void select_call_places(Select *s);
void select_take_parameters(Select *s); /* of a function with registers as parameters, at its start */
void select_return_results(Select *s); /* before it returns */
/* Places of variables in local memory and of kernel parameters in their buffer. */
void select_frame(Select *s);
/* Lays out a call's results, then its arguments, in the frame of the function called. Fills the places;
 * returns the bytes. */
uint32_t select_call_layout(PtxVariable **returns, uint32_t return_count, PtxVariable **params,
                            uint32_t param_count, LocalPlace *return_places, LocalPlace *param_places);
uint16_t select_load_op(PtxSpace space, bool vector, PtxType type, RegisterClass class);
uint16_t select_store_op(PtxSpace space, bool vector, PtxType type, RegisterClass class);

/* The families. */
void select_alu(Select *s);
bool select_has_operation(Select *s); /* whether select_alu() has one for the instruction */
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
void select_plain(Select *s);
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
/* The operation of atom.what.type; OP_COUNT when there is none. */
uint16_t select_atomic_op(PtxModifier what, PtxType type);
void select_complete_tx(Select *s, uint32_t bytes); /* st.async, red.async: at the mbarrier of operand 2 */
void select_mma(Select *s);
void select_wmma(Select *s);
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
