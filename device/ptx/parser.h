/* Inside the front end: the parser's state and the functions its files share.
 *
 * In pipeline order: lexer.c (text to tokens), names.c and vocabulary.c (interned names), symbols.c (scopes),
 * directives.c (module level), initializer.c and constant.c, statement.c (bodies), operand.c, form.c
 * (mnemonics) with form_rules.c and version_checks.c, operand_rules.c and check.c (operands against the
 * rows). The parser goes forward only, with one token of lookahead, `tok`. An error does not return: ptx_fail
 * stores the message and jumps to the one exit in entry.c; the arena and the scratch vectors own all memory,
 * so nothing is lost.
 *
 * Comments at the functions give the grammar that they read. A function of a rule starts at its first token,
 * and leaves p->tok at the one after the last.
 */
#ifndef DEVICE_PTX_PARSER_H
#define DEVICE_PTX_PARSER_H

#include <setjmp.h>
#include <string.h>

#include "ptx/arena.h"
#include "ptx/ptx.h"

#define PTX_OLDEST_VERSION 10
#define PTX_NEWEST_VERSION 99 /* any 9.x: what a minor version adds is refused by name if it is not known */
#define PTX_MAX_DEPTH 64          /* of nested scopes, vectors, parentheses */
#define PTX_MAX_REGISTERS (1u << 20) /* declared at one time in a function */
#define PTX_MAX_BYTES (1ull << 28)   /* of all initialized variables */
#define PTX_MAX_SIZE (1ull << 47)    /* of a variable */
#define PTX_MAX_NUMBER_DIGITS 7      /* of the number at the end of %r7: as many as PTX_MAX_REGISTERS has */
#define PTX_WARP_SIZE 32

/* ---- names ---- */

/* A word of a mnemonic after its dot, as found by spelling. */
typedef enum { PTX_WORD_NONE, PTX_WORD_MODIFIER, PTX_WORD_TYPE, PTX_WORD_SPACE, PTX_WORD_VECTOR } PtxWordKind;

typedef struct PtxSymbol PtxSymbol;

/* An interned spelling: all that a spelling can mean, found by one look-up. */
typedef struct PtxName {
    const char *text;
    uint32_t length;
    uint32_t number;          /* of %r7: 7 */
    struct PtxName *prefix;   /* of %r7: %r; NULL for names without a number */
    uint16_t opcode;          /* PtxOpcode */
    uint16_t special;         /* PtxSpecial, or PTX_SPECIAL_NONE */
    uint16_t component;       /* of a numbered special register: 3 for %envreg3 */
    uint8_t word_kind;        /* PtxWordKind */
    uint16_t word;            /* PtxModifier, PtxType or PtxSpace, or the n of .vn: as word_kind says */
    uint16_t directive;       /* PtxDirective */
    uint16_t class;           /* of classes.def: index + 1 */
    PtxSymbol *symbol;        /* innermost declaration in sight, or NULL */
    PtxSymbol *range;         /* innermost %r<n> in sight, for the prefix */
    bool spelled;             /* of the prefix %r: a name such as %r7 was declared by itself */
    struct PtxRule *rule;     /* for a whole mnemonic: decoded, or NULL */
} PtxName;

typedef struct PtxSlot {
    PtxName *name;
    uint64_t key;
} PtxSlot;

typedef struct PtxNames {
    PtxSlot *slots;
    uint32_t size;            /* slots: a power of two */
    uint32_t count;           /* names */
} PtxNames;

/* ---- tokens ---- */

typedef enum {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,       /* foo, %r1, $L, mnemonics with their dots where one is expected */
    PTX_TOKEN_NUMBERED,   /* %r1 where %r<n> is in sight: name is %r; ptx_intern_numbered makes it a NAME */
    PTX_TOKEN_DIRECTIVE,  /* .word: name without the dot */
    PTX_TOKEN_INTEGER,
    PTX_TOKEN_FLOAT,
    PTX_TOKEN_STRING,
    PTX_TOKEN_PUNCTUATION /* `sign` says which: the character, or PTX_SIGN2 of two such as "<<" */
} PtxTokenKind;

#define PTX_SIGN2(a, b) ((a) | (b) << 8)

typedef struct PtxToken {
    uint8_t kind;
    uint8_t type;          /* of a number: PTX_s64 PTX_u64 PTX_f32 PTX_f64 */
    uint16_t sign;         /* of punctuation */
    uint32_t line, column;
    const char *start;
    uint32_t length;       /* of a string: without the quotes */
    uint32_t number;       /* of NUMBERED */
    union {
        PtxName *name;
        uint64_t bits;
    };
} PtxToken;

/* ---- directives ---- */

typedef enum PtxDirective {
    PTX_DIRECTIVE_NONE,
#define DIRECTIVE(name) PTX_DIRECTIVE_##name,
#include "ptx/directives.def"
    PTX_DIRECTIVE_COUNT
} PtxDirective;

/* ---- symbols ---- */

typedef enum {
    PTX_SYMBOL_REGISTER,
    PTX_SYMBOL_REGISTERS, /* of a vector */
    PTX_SYMBOL_RANGE,     /* %r<n> */
    PTX_SYMBOL_VARIABLE,
    PTX_SYMBOL_FUNCTION,
    PTX_SYMBOL_LABEL,
    PTX_SYMBOL_PROTOTYPE,
    PTX_SYMBOL_TABLE
} PtxSymbolKind;

struct PtxSymbol {
    uint8_t kind;
    uint8_t type;              /* of registers */
    uint8_t vector;            /* of registers: 1, 2 or 4 */
    uint32_t depth;            /* of the scope */
    uint32_t line;
    uint32_t count;            /* of a range */
    PtxSymbol *outer; /* of a range: that of the same prefix in an outer scope, which may have more */
    uint32_t reg; /* index + 1 of the register, 0 while unused */
    union {
        uint32_t *regs; /* as reg, for each register of a range or vector */
        PtxVariable *variable;
        PtxFunction *function;
        PtxLabel *label;
        PtxPrototype *prototype;
        PtxTable *table;
    };
};

/* What a declaration hid, restored when its scope closes. */
typedef struct PtxBinding {
    PtxName *name;
    PtxSymbol *hidden;
    bool is_range;
} PtxBinding;

/* A name of a label, table or prototype in an operand or a table, to be resolved when the scope closes in
 * which it is declared. */
typedef struct PtxFixup {
    PtxName *name;
    PtxOperand *operand; /* whose name is replaced by what it means, or NULL */
    PtxLabel **label; /* if operand is NULL: where the label goes */
    uint32_t depth, line, column;
} PtxFixup;

typedef struct PtxScope {
    uint32_t bindings, fixups; /* how many there were when it was opened */
} PtxScope;

/* A growing array that is reused; freed at the one exit. */
typedef struct PtxVector {
    void *items;
    uint32_t count, capacity;
    size_t bytes; /* of the chunk that holds the items */
} PtxVector;

/* ---- mnemonics ---- */

/* What stands for an operand in a row: see the top of instructions.def. */
typedef enum {
    PTX_SHAPE_DESTINATION,
    PTX_SHAPE_SOURCE,
    PTX_SHAPE_ADDRESS,
    PTX_SHAPE_TUPLE,
    PTX_SHAPE_IMMEDIATE,
    PTX_SHAPE_VECTOR,
    PTX_SHAPE_MOV,
    PTX_SHAPE_MOV_DESTINATION,
    PTX_SHAPE_LABEL,
    PTX_SHAPE_TABLE,
    PTX_SHAPE_VIDEO,
    PTX_SHAPE_CALL
} PtxShape;

#define PTX_MAX_VECTOR_WIDTH 8
/* Words of mnemonics as a set: modifiers first, then types, spaces and vector widths. */
#define PTX_WORD_COUNT (PTX_MOD_COUNT + PTX_TYPE_COUNT + PTX_SPACE_COUNT + PTX_MAX_VECTOR_WIDTH + 1)
typedef struct PtxWordSet {
    uint64_t words[(PTX_WORD_COUNT + 63) / 64];
} PtxWordSet;

/* One element of a row's modifiers. */
typedef struct PtxElement {
    PtxWordSet set;
    bool optional;
    bool leading; /* part of the instruction's name: no word of a later element stands before it */
} PtxElement;

/* The modifiers of a row of instructions.def, read at the first use of its opcode. */
typedef struct PtxRow {
    PtxElement *elements;
    uint32_t count;
    bool ready;
} PtxRow;

/* What a row of instructions.def asks of one operand. */
typedef struct PtxOperandRule {
    uint8_t shape; /* PtxShape */
    uint8_t type; /* PtxType, PTX_TYPE_NONE: any */
    uint8_t vector; /* how many values; 0: one, or a vector of any length */
    uint8_t space; /* of an address */
    bool optional;
    bool pair; /* may be a pair d|p */
    bool pair_only; /* must be a pair, whose predicate is not a sink */
    bool sink; /* may be _ */
    bool relaxed; /* may be a wider register */
    bool register_only; /* no number */
    uint32_t limit; /* an immediate must be less than this; 0: it may be any */
    uint32_t exact; /* an immediate must be this; 0: it may be any */
    bool braces; /* a single value may stand in braces */
} PtxOperandRule;

#define PTX_MAX_OPERANDS 16 /* of a row */

/* The operands of a row, for one form. */
typedef struct PtxSignature {
    uint32_t row;
    uint32_t count; /* operands */
    uint32_t required; /* how many of them are not optional */
    PtxOperandRule *operands;
} PtxSignature;

/* A mnemonic and the rows that it matches, in the order of the table. */
typedef struct PtxRule {
    PtxForm form;
    PtxSignature *signatures;
    uint32_t signature_count;
    bool accepts_special; /* mov and cvt read special registers */
} PtxRule;

/* ---- the parser ---- */

typedef struct PtxParser {
    PtxModule *module;
    PtxLog *log;
    PtxOptions options;
    Arena *arena;
    /* lexer.c */
    const char *at, *end, *line_start;
    uint32_t line;
    PtxToken tok;
    /* names.c, symbols.c */
    PtxNames names;
    PtxName *warp_size, *generic, *sink; /* WARP_SZ, generic, _ */
    PtxVector bindings, fixups, scopes;
    /* form.c */
    PtxRow *rows;
    /* declarations of the module */
    PtxVector globals, functions, files, forms;
    /* the function in work */
    PtxFunction *function;
    PtxVector insns, registers, variables, labels;
    PtxVector operands; /* of the instruction and nested lists in work */
    PtxVector bytes, relocations; /* of the initializer in work */
    PtxVector thread_registers; /* PtxPlace: .reg outside of functions */
    uint32_t body_depth; /* scopes around that of the function's body */
    bool labels_allowed; /* an unknown name in the operands is a label */
    uint32_t declared; /* registers of the function, against PTX_MAX_REGISTERS */
    uint64_t initialized; /* bytes of initializers of the module, against PTX_MAX_BYTES */
    uint32_t file, source_line; /* of the last .loc */
    uint32_t depth; /* of nesting, against PTX_MAX_DEPTH */
    jmp_buf exit;
} PtxParser;

/* entry.c */
/* An error at a place of the text, with PTX_INVALID or another status; ends parsing. */
_Noreturn void ptx_fail(PtxParser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void ptx_fail_status(PtxParser *p, PtxStatus status, uint32_t line, uint32_t column,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));
_Noreturn void ptx_fail_memory(PtxParser *p);
/* "expected ..., found <token>" at the current token. */
_Noreturn void ptx_fail_expected(PtxParser *p, const char *what);
/* Zeroed memory of the module; never NULL. */
void *ptx_new(PtxParser *p, size_t size);
void ptx_vector_grow(PtxParser *p, PtxVector *vector, size_t item_size);
/* One more item at the end of a vector, zeroed; the address holds until the next push. */
static inline void *ptx_push(PtxParser *p, PtxVector *vector, size_t item_size)
{
    if (vector->count == vector->capacity) ptx_vector_grow(p, vector, item_size);
    char *item = (char *)vector->items + vector->count++ * item_size;
    return memset(item, 0, item_size);
}
/* Moves the items from `from` on to an array of the module. Returns it, or NULL if there are none. */
void *ptx_take(PtxParser *p, PtxVector *vector, uint32_t from, size_t item_size);
/* Around each level of nesting: fails where there are more than PTX_MAX_DEPTH. */
void ptx_enter(PtxParser *p);
void ptx_leave(PtxParser *p);

/* log.c */
void ptx_report_list(const PtxModule *module, PtxLog *log, PtxStatus status, uint32_t line, uint32_t column,
                     const char *format, va_list list) __attribute__((format(printf, 6, 0)));

/* lexer.c */
/* Reads the next token into p->tok. */
void ptx_next(PtxParser *p);
/* As ptx_next(), where a statement starts: a mnemonic with its dots is one token. */
void ptx_next_statement(PtxParser *p);
/* The name that is the token, with the dotted words that follow it, which are read. */
PtxName *ptx_mnemonic(PtxParser *p);
/* Makes the next '}' the token, over text that need not consist of tokens;
 * at the end of the text if there is none. */
void ptx_skip_to_brace(PtxParser *p);
/* ".5" is read as a dotted word; where a constant may stand, this makes the token a number. False, with the
 * token unchanged, if it is not a number. */
bool ptx_reread_number(PtxParser *p);
/* Makes a NUMBERED token a NAME; other tokens stay as they are. */
void ptx_intern_numbered(PtxParser *p);
static inline bool ptx_is(const PtxParser *p, unsigned sign)
{
    return p->tok.kind == PTX_TOKEN_PUNCTUATION && p->tok.sign == sign;
}
bool ptx_is_directive(const PtxParser *p, PtxDirective directive);
/* Whether the token is that sign or directive, which is then read. */
bool ptx_accept(PtxParser *p, unsigned sign);
bool ptx_accept_directive(PtxParser *p, PtxDirective directive);
/* Reads a sign of one character, or a name; fails if the token is another. */
void ptx_expect(PtxParser *p, unsigned sign);
PtxName *ptx_expect_name(PtxParser *p, const char *what);

/* vocabulary.c */
void ptx_vocabulary_init(void);
/* What a spelling means by itself; a name without meaning, never NULL, if that is nothing. */
const PtxName *ptx_word(const char *text, size_t length);
/* The bit of a word of a mnemonic in a PtxWordSet. */
unsigned ptx_word_index(const PtxName *word);
/* Adds the alternatives at the start of a row's text to a set. Returns where they end. */
const char *ptx_alternatives(const char *at, PtxWordSet *set);

/* names.c */
uint32_t ptx_hash(const char *text, size_t length);
/* The name of a spelling, made at its first use. */
PtxName *ptx_intern(PtxParser *p, const char *text, size_t length);
/* The name of a spelling if there is one already, or NULL. */
PtxName *ptx_seen(const PtxParser *p, const char *text, size_t length);
void ptx_names_init(PtxParser *p);
void ptx_names_free(PtxParser *p);

/* symbols.c */
void ptx_open_scope(PtxParser *p);
void ptx_close_scope(PtxParser *p);
/* A new symbol of that kind for a name, or for a range with a prefix, in the innermost scope. It is an error
 * if the scope has one already. The caller fills in what the symbol stands for. */
PtxSymbol *ptx_declare(PtxParser *p, PtxSymbolKind kind, PtxName *name, uint32_t line, uint32_t column);
PtxSymbol *ptx_declare_range(PtxParser *p, PtxName *name, uint32_t line, uint32_t column);
/* The register of a name, or of component `part` if the name is a vector: its index in p->registers, which it
 * gets at its first use. UINT32_MAX if the name does not stand for registers; 0 if the vector has no such
 * component. *vector: how many registers the name stands for. */
uint32_t ptx_find_register(PtxParser *p, PtxName *name, uint32_t part, uint32_t *vector);
/* The range in sight that has a register of that number; NULL: there is none. */
static inline PtxSymbol *ptx_find_range(const PtxName *prefix, uint32_t number)
{
    PtxSymbol *range = prefix->range;
    while (range && number >= range->count) range = range->outer;
    return range;
}
/* As ptx_find_register(), for a register of a range in sight whose names stand for one register each. */
uint32_t ptx_find_numbered(PtxParser *p, const PtxName *prefix, uint32_t number);
/* Resolves a name when the scope is known that declares it: in *operand, or if that is NULL in *label. */
void ptx_add_fixup(PtxParser *p, PtxName *name, PtxOperand *operand, PtxLabel **label, uint32_t line,
                   uint32_t column);

/* constant.c */
typedef struct PtxConstant {
    uint8_t type; /* PTX_s64 PTX_u64 PTX_f32 PTX_f64 */
    uint64_t bits;
    PtxVariable *variable; /* of its address, with the offset in bits; or NULL */
    PtxFunction *function; /* in the same way */
    bool generic; /* generic(x) */
    bool masked; /* 0xff00(x): mask is that */
    uint64_t mask;
} PtxConstant;
/* A constant expression: a number, or an address with an offset. */
PtxConstant ptx_constant(PtxParser *p);
/* As ptx_constant(): an address is an error. */
PtxConstant ptx_constant_number(PtxParser *p);
/* As ptx_constant(): an address or a float is an error. Numbers above INT64_MAX are their bits. */
int64_t ptx_constant_integer(PtxParser *p);
/* A float's bits as those of another float type, an integer's unchanged. */
uint64_t ptx_convert_bits(PtxType from, uint64_t bits, PtxType to);

/* initializer.c */
/* Reads the initializer of a variable, after "=". */
void ptx_initializer(PtxParser *p, PtxVariable *variable);

/* directives.c, variables.c */
void ptx_module(PtxParser *p);
/* Whether the token is a state space that variables are declared in: not .reg, not .sreg. */
bool ptx_is_space(const PtxParser *p);
void ptx_variable_statement(PtxParser *p, PtxLinkage linkage);
/* A parameter or result, and a list of them in parentheses; they are in no scope. An unnamed one is called
 * _. */
PtxVariable *ptx_parameter(PtxParser *p, bool is_entry, bool may_be_unnamed);
PtxVariable **ptx_parameter_list(PtxParser *p, bool is_entry, bool may_be_unnamed, uint32_t *count);
PtxType ptx_type_directive(PtxParser *p);
void ptx_loc(PtxParser *p);
void ptx_file(PtxParser *p);
void ptx_section(PtxParser *p);
void ptx_skip_to_semicolon(PtxParser *p);
/* A constant expression of 0 to max, which is at most UINT32_MAX. */
uint32_t ptx_number(PtxParser *p, const char *what, uint64_t max);
/* An integer without operators; one of more than 32 bits becomes UINT32_MAX. */
uint32_t ptx_plain_integer(PtxParser *p, const char *what);

/* functions.c */
void ptx_function(PtxParser *p, PtxLinkage linkage);
/* Declares a parameter or result of the function in work in the current scope: a variable, or for .reg a
 * register. */
void ptx_bind_parameter(PtxParser *p, PtxVariable *variable);
void ptx_alias(PtxParser *p);
/* Skips .abi_preserve or .abi_preserve_control, which the token is, and its number. */
void ptx_skip_abi_preserve(PtxParser *p);

/* statement.c, operand.c */
void ptx_body(PtxParser *p);
void ptx_register_declaration(PtxParser *p);
/* Whether registers and variables in .local may be declared here, outside of functions. */
bool ptx_has_thread_variables(const PtxParser *p);
/* Notes and skips a declaration of registers outside of functions. */
void ptx_note_thread_registers(PtxParser *p);
/* Opens a scope, around that of a kernel's body, with these registers, if there are any. Only kernels have
 * them: no value goes from one function to another by them. */
void ptx_open_thread_registers(PtxParser *p);
/* Read the operands of an instruction, or of a call, into p->operands. */
void ptx_operand_list(PtxParser *p);
void ptx_call_operands(PtxParser *p);

/* form.c */
/* The rule of a mnemonic, decoded at its first use; an error at the place given if it is not an
 * instruction. */
PtxRule *ptx_rule(PtxParser *p, PtxName *mnemonic, uint32_t line, uint32_t column);
void ptx_rules_init(PtxParser *p);

/* form_rules.c, version_checks.c: fail if words of a mnemonic do not go
 * together, or are newer than .version and .target */
void ptx_check_form(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column);
void ptx_check_versions(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column);
/* version_checks.c: whether a mnemonic has all of the words, which are separated by blanks and have no dots;
 * the word "generic" stands for no state space. */
bool ptx_has_words(const PtxForm *form, const char *words);

/* check.c, check_call.c: fail if the operands do not fit the rule, or the function called */
void ptx_check(PtxParser *p, const PtxRule *rule, const PtxInsn *insn);
void ptx_check_call(PtxParser *p, const PtxInsn *insn);
static inline bool ptx_is_generic_or_global(PtxSpace space)
{
    return space == PTX_SPACE_NONE || space == PTX_SPACE_GLOBAL;
}

/* operand_rules.c */
extern const char *const ptx_row_operands[]; /* operands of each row of instructions.def, as text */
/* Reads the operands of a row from their text, for a form that matches its modifiers. */
void ptx_signature(PtxParser *p, const PtxForm *form, const char *text, PtxSignature *signature);

#endif
