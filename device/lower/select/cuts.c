/* Instructions that a GPU's compiler expands to several blocks, so that no product before one is contracted
 * with a sum after it: divisions and square roots with a slow path, fences, and instructions under a guard
 * that becomes a branch. The lists are what ptxas 13.0 was seen to do. */
#include "lower/select/select.h"

static bool is_64(PtxType type) { return ptx_type_bits(type) == 64; }

/* Whether ptxas expands an instruction to several blocks, with or without a guard. */
static bool is_expanded(const PtxForm *form)
{
    PtxType type = form->types[0];
    bool rounds = form->group[PTX_GROUP_ROUND] != PTX_MOD_NONE;
    switch (form->opcode) {
    case PTX_OP_div: return ptx_types[type].class == PTX_FLOAT ? rounds : type != PTX_u32;
    case PTX_OP_rem: return type != PTX_u32;
    case PTX_OP_sqrt:
    case PTX_OP_rcp: return rounds;
    case PTX_OP_rsqrt: return is_64(type) && !ptx_has(form, PTX_MOD_ftz);
    case PTX_OP_bfind: return is_64(type);
    case PTX_OP_fence: return ptx_has(form, PTX_MOD_acq_rel) || ptx_has(form, PTX_MOD_sc);
    case PTX_OP_membar:
    case PTX_OP_brkpt:
    case PTX_OP_call: return true;
    default: return false;
    }
}

/* Whether ptxas predicates an instruction that has a guard, rather than branch around it: arithmetic, moves
 * and shuffles, and loads of parameters, which become operands in constant memory. */
static bool keeps_guard(const PtxForm *form)
{
    switch (form->opcode) {
#define ALU(opcode) case PTX_OP_##opcode:
#define SELECT(opcode, name)
#include "lower/select/select.def"
    case PTX_OP_cvt:
    case PTX_OP_cvta:
    case PTX_OP_isspacep:
    case PTX_OP_lop3:
    case PTX_OP_max:
    case PTX_OP_min:
    case PTX_OP_mov:
    case PTX_OP_set:
    case PTX_OP_setp:
    case PTX_OP_shfl: return true;
    case PTX_OP_ld: return form->spaces[0] == PTX_SPACE_PARAM;
    default: return false;
    }
}

bool select_cuts(const PtxInsn *insn)
{
    bool guarded = insn->guard != PTX_NO_GUARD;
    return is_expanded(insn->form) || (guarded && !keeps_guard(insn->form));
}
