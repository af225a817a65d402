/* The checked tree: what the front end makes of a PTX text and what lower/ reads.
 *
 * Everything is resolved: an operand names its register by number, its variable, label or function by
 * pointer; immediates are bits with a type; initializers are bytes with relocations; { } scopes are
 * gone. Instructions with the same mnemonic text share one PtxForm, in which modifiers are decoded.
 * Labels, tables and prototypes may be declared after they are used: until the scope closes, the parser has
 * the operand's name in their place (PtxOperand.name).
 * All memory belongs to the module and is freed by ptx_module_free; strings are interned in it.
 */
#ifndef DEVICE_PTX_TREE_H
#define DEVICE_PTX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- vocabulary, from the tables ---- */

typedef enum PtxType {
    PTX_TYPE_NONE,
#define TYPE(name, bits, class, kind) PTX_##name,
#include "ptx/types.def"
    PTX_TYPE_COUNT
} PtxType;

typedef enum { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_PREDICATE, PTX_OPAQUE } PtxClass;
typedef enum {
    PTX_KIND_NONE,
    PTX_KIND_PREDICATE,
    PTX_KIND_ROW16,
    PTX_KIND_ROW32,
    PTX_KIND_ROW64,
    PTX_KIND_ROW128
} PtxRegisterKind;

typedef struct PtxTypeInfo {
    const char *name;      /* "f16x2" */
    uint16_t bits;
    uint8_t class;         /* PtxClass */
    uint8_t register_kind; /* PtxRegisterKind */
} PtxTypeInfo;

extern const PtxTypeInfo ptx_types[PTX_TYPE_COUNT];

static inline unsigned ptx_type_bits(PtxType type) { return ptx_types[type].bits; }
static inline unsigned ptx_type_bytes(PtxType type) { return (ptx_types[type].bits + 7u) / 8u; }

typedef enum PtxSpace {
    PTX_SPACE_NONE, /* in an instruction: generic */
#define SPACE(name, spelling) PTX_SPACE_##name,
#include "ptx/spaces.def"
    PTX_SPACE_COUNT
} PtxSpace;

typedef enum PtxOpcode {
    PTX_OP_NONE,
#define OPCODE(name, section) PTX_OP_##name,
#define FORM(modifiers, operands)
#include "ptx/instructions.def"
    PTX_OP_COUNT
} PtxOpcode;

typedef enum PtxModifier {
    PTX_MOD_NONE,
#define MODIFIER(name, spelling, group) PTX_MOD_##name,
#include "ptx/modifiers.def"
    PTX_MOD_COUNT
} PtxModifier;

/* Groups of modifiers: PtxForm.group[] has the first modifier of each that a mnemonic gives. */
typedef enum PtxGroup {
    PTX_GROUP_FLAG,      /* anything that stands alone: .ftz .sat .cc .sync .uni ... (test with ptx_has) */
    PTX_GROUP_ROUND,     /* .rn .rz .rm .rp .rna .rs */
    PTX_GROUP_INTROUND,  /* .rni .rzi .rmi .rpi */
    PTX_GROUP_COMPARE,   /* .eq .ne .lt ... .num .nan; .lo and .hi are of PTX_GROUP_HALF */
    PTX_GROUP_HALF,      /* .lo .hi .wide */
    PTX_GROUP_OPERATION, /* .and .or .xor .add .min .max .exch .cas .inc .dec .popc .all .any ... */
    PTX_GROUP_SEMANTICS, /* .relaxed .acquire .release .acq_rel .volatile .weak .sc .mmio */
    PTX_GROUP_SCOPE,     /* .cta .cluster .gpu .gl .sys */
    PTX_GROUP_CACHE,     /* .ca .cg .cs .lu .cv .wb .wt .nc */
    PTX_GROUP_HINT,      /* L1:: and L2:: eviction and prefetch hints */
    PTX_GROUP_SHAPE,     /* .m16n8k16, .1d .a2d ... */
    PTX_GROUP_BOUNDARY,  /* .trap .clamp .zero .wrap */
    PTX_GROUP_MODE,      /* what else chooses an operation: .up .down .bfly .idx .ballot .l .r .f4e ... */
    PTX_GROUP_COUNT
} PtxGroup;

typedef struct PtxModifierInfo {
    const char *spelling;
    uint8_t group;
} PtxModifierInfo;
extern const PtxModifierInfo ptx_modifiers[PTX_MOD_COUNT];
extern const char *const ptx_opcode_names[PTX_OP_COUNT];
extern const char *const ptx_space_names[PTX_SPACE_COUNT];

typedef enum PtxSpecial {
    PTX_SPECIAL_NONE,
#define SPECIAL(name, type, components) PTX_SPECIAL_##name,
#define NUMBERED(name, type, count) PTX_SPECIAL_##name,
#include "ptx/special.def"
    PTX_SPECIAL_COUNT
} PtxSpecial;

typedef struct PtxSpecialInfo {
    const char *name;
    uint8_t type, components;
    bool numbered;
} PtxSpecialInfo;
extern const PtxSpecialInfo ptx_specials[PTX_SPECIAL_COUNT];

/* ---- instructions ---- */

#define PTX_MAX_MODIFIERS 16
#define PTX_MAX_TYPES 6
#define PTX_MAX_SPACES 4
#define PTX_TYPED_OPERANDS 5
#define PTX_MOD_WORDS ((PTX_MOD_COUNT + 63) / 64)

/* A decoded mnemonic, shared by all instructions that spell it the same. */
typedef struct PtxForm {
    const char *spelling;         /* "mad.lo.s32" as written */
    uint32_t id;                  /* index into module->forms, by which readers keep what they derive */
    uint16_t opcode;              /* PtxOpcode */
    uint8_t vector;               /* 1, or n of .vn */
    uint8_t modifier_count, type_count, space_count;
    uint16_t modifiers[PTX_MAX_MODIFIERS]; /* PtxModifier in the order written; no types, no spaces */
    uint8_t types[PTX_MAX_TYPES]; /* PtxType in the order written; unused ones PTX_TYPE_NONE */
    uint8_t spaces[PTX_MAX_SPACES]; /* PtxSpace in the order written; unused ones PTX_SPACE_NONE */
    uint8_t operand_types[PTX_TYPED_OPERANDS]; /* PtxType of each operand, by the first matching row */
    uint16_t group[PTX_GROUP_COUNT]; /* first modifier of each group, or PTX_MOD_NONE */
    uint64_t set[PTX_MOD_WORDS]; /* bit m: modifier m was given */
    uint32_t row; /* index of the matching row of instructions.def */
    uint16_t columns; /* the N of a shape .m64nNk16 */
} PtxForm;

static inline bool ptx_has(const PtxForm *form, PtxModifier modifier)
{
    return form->set[modifier / 64] >> (modifier % 64) & 1;
}

/* Why the CPU device refuses an instruction of that form, for a message; NULL if nothing is known. */
const char *ptx_refusal(const PtxForm *form);

typedef struct PtxVariable PtxVariable;
typedef struct PtxFunction PtxFunction;
typedef struct PtxLabel PtxLabel;
typedef struct PtxPrototype PtxPrototype;
typedef struct PtxTable PtxTable;
typedef struct PtxOperand PtxOperand;

typedef enum PtxOperandKind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_REGISTER, /* reg */
    PTX_OPERAND_IMMEDIATE, /* bits; type is s64, u64, f32 (0f...) or f64 (0d..., decimal) */
    PTX_OPERAND_SPECIAL, /* special, component */
    PTX_OPERAND_VARIABLE, /* variable + offset: its address (mov, cvta), or a call's .param argument */
    PTX_OPERAND_FUNCTION, /* function */
    PTX_OPERAND_LABEL, /* label: a branch target */
    PTX_OPERAND_TABLE, /* table: .branchtargets or .calltargets */
    PTX_OPERAND_PROTOTYPE, /* prototype: .callprototype; in the parser .calltargets as well, see PtxInsn */
    PTX_OPERAND_ADDRESS, /* [base + offset]; base says which of reg, variable or nothing */
    PTX_OPERAND_SINK, /* _ */
    PTX_OPERAND_VECTOR, /* {a, b, ...}: items, count */
    PTX_OPERAND_PAIR, /* d|p: items[0], items[1] (either may be a sink) */
    PTX_OPERAND_TUPLE, /* [a, b, {c, d}]: items, count (textures, surfaces, tensor maps) */
    PTX_OPERAND_LIST /* (a, b, ...): items, count: returns and arguments of a call */
} PtxOperandKind;

typedef enum { PTX_BASE_NONE, PTX_BASE_REGISTER, PTX_BASE_VARIABLE, PTX_BASE_PARAM_NUMBER } PtxBase;

/* A part of a register, for video instructions: .b0 .h1 .b3210 .h10. */
typedef struct PtxSelector {
    uint8_t unit; /* 'b', 'h' or 0: none */
    uint8_t count; /* digits */
    uint16_t digits; /* four bits each, the first written lowest */
} PtxSelector;

struct PtxOperand {
    uint8_t kind; /* PtxOperandKind */
    uint8_t type; /* PtxType of a register, special register, immediate or ADDRESS's base; or NONE */
    bool negated; /* !p, or -a in video instructions */
    bool unified; /* ADDRESS: [a].unified */
    bool indexed; /* VARIABLE: a[3], which is a value for mov and an address for ld */
    uint8_t base; /* ADDRESS: PtxBase */
    uint16_t component; /* SPECIAL: 0-3 of .x .y .z .w, or the number of a family */
    uint16_t special; /* SPECIAL: PtxSpecial */
    uint32_t count; /* items */
    uint32_t reg; /* REGISTER, ADDRESS: index into function->registers */
    PtxSelector selector;
    uint32_t column; /* for messages, which take the line from the instruction */
    union {
        uint64_t bits; /* IMMEDIATE */
        int64_t offset; /* ADDRESS, VARIABLE: bytes */
    };
    union {
        PtxVariable *variable;
        PtxFunction *function;
        PtxLabel *label;
        PtxPrototype *prototype;
        PtxTable *table;
        PtxOperand *items;
        struct PtxName *name; /* in the parser: of a LABEL, TABLE or PROTOTYPE that is not resolved yet */
    };
};

typedef enum PtxCallOperand {
    PTX_CALL_RETURNS, /* LIST */
    PTX_CALL_CALLEE, /* FUNCTION or REGISTER */
    PTX_CALL_ARGUMENTS, /* LIST */
    PTX_CALL_TARGETS, /* what an indirect call may reach */
    PTX_CALL_OPERANDS
} PtxCallOperand;

#define PTX_NO_GUARD UINT32_MAX

/* Operand order is that of the text. Optional operands that are absent are not there: look at operand_count.
 *
 * call always has the four operands of PtxCallOperand; a list that is not written is empty. The last is NONE
 * if the call names nothing. Otherwise it is PROTOTYPE with a name while the scope is open, and then
 * PROTOTYPE with a prototype, or TABLE, as the name was declared. */
typedef struct PtxInsn {
    const PtxForm *form;
    PtxOperand *operands;
    uint16_t operand_count;
    bool guard_negated; /* @!p */
    uint32_t guard; /* register of @p, or PTX_NO_GUARD */
    uint32_t line, column; /* in the PTX text, from 1 */
    uint32_t file; /* of the last .loc: number as in .file, 0: none */
    uint32_t source_line;
} PtxInsn;

/* ---- declarations ---- */

typedef struct PtxRegister {
    const char *name; /* "%r" for %r<100> */
    uint32_t number; /* 7 for %r7 of a range; PTX_NOT_NUMBERED for a single name */
    uint8_t type; /* PtxType */
    uint32_t line;
} PtxRegister;
#define PTX_NOT_NUMBERED UINT32_MAX

struct PtxLabel {
    const char *name;
    uint32_t position; /* index of the instruction that follows; insn_count at the end of the body */
    uint32_t line, column;
    uint32_t id; /* index into function->labels */
};

typedef enum {
    PTX_LINKAGE_INTERNAL,
    PTX_LINKAGE_VISIBLE,
    PTX_LINKAGE_EXTERN,
    PTX_LINKAGE_WEAK,
    PTX_LINKAGE_COMMON
} PtxLinkage;

/* A place in an initializer to which an address is written. */
typedef struct PtxRelocation {
    uint64_t offset; /* in the variable */
    uint8_t size; /* bytes written there: 1, 2, 4 or 8 */
    uint8_t shift; /* bits the address is shifted right first: 0xFF00(x) is size 1, shift 8 */
    bool generic; /* generic(x): the generic address, else the address in x's space */
    PtxVariable *variable; /* whose address it is; NULL: the function's */
    PtxFunction *function;
    int64_t addend;
} PtxRelocation;

#define PTX_MAX_DIMS 8

struct PtxVariable {
    const char *name;
    uint32_t id; /* index into module->globals or function->variables */
    uint8_t space; /* PtxSpace: GLOBAL CONST SHARED LOCAL PARAM TEX; REG for a parameter */
    uint8_t type; /* PtxType of an element */
    uint8_t vector; /* 1, 2, 4, 8 */
    uint8_t linkage; /* PtxLinkage */
    bool managed; /* .attribute(.managed) */
    bool defined; /* false: only .extern declared (dynamic shared memory: size 0 as well) */
    bool is_pointer; /* kernel parameter with .ptr */
    uint8_t pointer_space; /* PtxSpace of .ptr .global, NONE: generic */
    uint32_t pointer_align; /* of .ptr .align, 0: not given */
    uint32_t align; /* bytes: as declared, or the size of the (vector) type */
    uint64_t size; /* bytes in all; 0 for an unsized array */
    uint64_t dims[PTX_MAX_DIMS];
    uint8_t dim_count; /* 0: a scalar; dims[0] = 0: [] */
    uint8_t bank; /* .const[n] */
    uint32_t reg; /* of a parameter of a .func in space REG: index into function->registers */
    PtxFunction *function; /* where it is declared, NULL at module scope */
    const struct PtxModule *home; /* at module scope: whose text has it */
    PtxVariable *linked; /* while modules are linked: what its name means in the joined module */
    const uint8_t *initial; /* size bytes, or NULL: zeros */
    const PtxRelocation *relocations;
    uint32_t relocation_count;
    uint32_t line, column;
};

struct PtxPrototype { /* .callprototype */
    const char *name;
    PtxVariable **returns;
    uint32_t return_count;
    PtxVariable **params;
    uint32_t param_count;
    bool noreturn;
    uint32_t line;
};

struct PtxTable { /* .branchtargets, .calltargets */
    const char *name;
    PtxLabel **labels; /* of .branchtargets; NULL: it has functions */
    PtxFunction **functions;
    uint32_t count;
    uint32_t line, column;
};

struct PtxFunction {
    const char *name;
    uint32_t id; /* index into module->functions */
    bool is_entry;
    bool defined; /* has a body (or is an alias of one that has) */
    bool noreturn;
    uint8_t linkage; /* PtxLinkage */
    PtxFunction *alias; /* .alias name, aliasee */
    const struct PtxModule *home; /* whose text has it */
    PtxFunction *linked; /* while modules are linked: what its name means in the joined module */
    PtxVariable **returns;
    uint32_t return_count;
    PtxVariable **params;
    uint32_t param_count;
    uint32_t maxntid[3], reqntid[3]; /* 0: not given; missing dimensions of a given one are 1 */
    uint32_t minnctapersm, maxnctapersm, maxnreg;
    uint32_t reqnctapercluster[3], maxclusterrank;
    bool explicitcluster, blocks_are_clusters;
    PtxInsn *insns;
    uint32_t insn_count;
    PtxRegister *registers;
    uint32_t register_count; /* registers that are declared and not used are left out */
    PtxVariable **variables;
    uint32_t variable_count; /* of all scopes, without the parameters */
    PtxLabel **labels;
    uint32_t label_count;
    uint32_t line, column;
};

typedef struct PtxFile {
    uint32_t number;
    const char *name;
} PtxFile;

typedef struct PtxModule {
    const char *name; /* shown in messages */
    int version; /* 90 for .version 9.0 */
    int target; /* 75 for sm_75 */
    char target_suffix; /* 'a', 'f' or 0 */
    bool debug; /* .target ..., debug */
    bool assembled; /* .pragma "pycuda.assembled": stands for machine code */
    int address_size; /* 64 */
    PtxFile *files;
    uint32_t file_count;
    PtxVariable **globals;
    uint32_t global_count; /* variables of module scope, .shared ones too, in the order of the text */
    PtxFunction **functions;
    uint32_t function_count;
    const PtxForm **forms;
    uint32_t form_count;
    const char *text; /* a copy of the source, for messages; NULL: of a joined module */
    size_t length;
    struct Arena *arena;
    struct PtxModule **parts; /* of a joined module, which owns them */
    uint32_t part_count;
} PtxModule;

/* The name of a .loc's file, "" if there is none. */
const char *ptx_file_name(const PtxModule *module, uint32_t number);

/* An immediate as the bits of `type`: floats rounded to nearest even, integers truncated. */
uint64_t ptx_immediate_bits(const PtxOperand *operand, PtxType type);

#endif
