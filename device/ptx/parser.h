/* Inside the front end: the parser's state and the functions its files share.
 *
 * In pipeline order: lexer.c (text to tokens), names.c and vocabulary.c (interned names), symbols.c (scopes),
 * directives.c (module level), initializer.c and constant.c, statement.c (bodies), operand.c, form.c
 * (mnemonics) with form_rules.c and version_checks.c, operand_rules.c and check.c (operands against the
 * rows). The parser goes forward only, with one token of lookahead, `tok`. An error does not return: ptx_fail
 * stores the message and jumps to the one exit in entry.c; the arena and the scratch vectors know all memory,
 * so nothing is lost.
 */
#ifndef DEVICE_PTX_PARSER_H
#define DEVICE_PTX_PARSER_H

#include <setjmp.h>
#include <string.h>

#include "ptx/arena.h"
#include "ptx/ptx.h"

#define PTX_OLDEST_VERSION 14 /* before it kernels had no parameter list */
#define PTX_NEWEST_VERSION 99 /* any 9.x: what a minor version adds is refused by name if it is not known */
#define PTX_MAX_DEPTH 64          /* of nested scopes, vectors, parentheses */
#define PTX_MAX_REGISTERS (1u << 20) /* declared at one time in a function */
#define PTX_MAX_BYTES (1ull << 28)   /* of all initialized variables */
#define PTX_MAX_SIZE (1ull << 47)    /* of a variable */

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
    uint16_t special;         /* PtxSpecial of %tid, or of a family with the number in `component` */
    uint16_t component;
    uint8_t word_kind;        /* PtxWordKind, and its enumerator */
    uint16_t word;
    uint16_t directive;       /* PtxDirective */
    uint16_t class;           /* of classes.def: index + 1 */
    PtxSymbol *symbol;        /* innermost declaration in sight, or NULL */
    PtxSymbol *range;         /* innermost %r<n> in sight, for the prefix */
    bool spelled;             /* a prefix: a name such as %r7 was declared by itself */
    struct PtxRule *rule;     /* for a whole mnemonic: decoded, or NULL */
} PtxName;

typedef struct PtxSlot {
    PtxName *name;
    uint64_t key;
} PtxSlot;

typedef struct PtxNames {
    PtxSlot *slots;
    uint32_t size, count;     /* a power of two; names */
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
    PTX_TOKEN_PUNCTUATION /* kind of punctuation in `sign`; "<<" and such as two characters */
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
    PTX_SYMBOL_REGISTERS /* of a vector */,
    PTX_SYMBOL_RANGE,
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
    PtxSymbol *outer;          /* the range of the same prefix that this one hides in part */
    uint32_t reg;              /* index + 1 of the register, 0 while unused */
    union {
        uint32_t *regs;        /* the same for each of a range or vector */
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
    PtxOperand *operand; /* whose name is replaced by what it means; or */
    PtxLabel **label; /* where the label goes. The other is NULL */
    uint32_t depth, line, column;
} PtxFixup;

typedef struct PtxScope {
    uint32_t bindings, fixups;
} PtxScope;

/* A growing array that is reused; freed at the one exit. */
typedef struct PtxVector {
    void *items;
    uint32_t count, capacity;
    size_t bytes; /* of the chunk that it is in */
} PtxVector;

/* ---- mnemonics ---- */

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

/* Words of mnemonics as a set: modifiers first, then types, spaces and vector widths. */
#define PTX_WORD_COUNT (PTX_MOD_COUNT + PTX_TYPE_COUNT + PTX_SPACE_COUNT + 9)
typedef struct PtxWordSet {
    uint64_t words[(PTX_WORD_COUNT + 63) / 64];
} PtxWordSet;

/* One element of a row's modifiers. */
typedef struct PtxElement {
    PtxWordSet set;
    bool optional;
    bool leading; /* part of the name: no word of a later element stands before it */
} PtxElement;

/* A row of instructions.def, read at the first use of its opcode. */
typedef struct PtxRow {
    PtxElement *elements;
    uint32_t count;
    bool ready;
} PtxRow;

/* What a row of instructions.def asks of one operand. */
typedef struct PtxOperandRule {
    uint8_t shape; /* PtxShape */
    uint8_t type; /* PtxType, PTX_TYPE_NONE: any */
    uint8_t vector; /* values; 1: a single one; 0: one or a vector of any length */
    uint8_t space; /* of an address */
    bool optional, pair, sink, relaxed;
    bool pair_only; /* a pair, whose predicate is not a sink */
    bool register_only; /* no number */
    uint32_t limit; /* an immediate is less; 0: any */
    uint32_t exact; /* an immediate is that; 0: any */
    bool braces; /* a single value may stand in braces */
} PtxOperandRule;

#define PTX_MAX_OPERANDS 16

typedef struct PtxSignature {
    uint32_t row;
    uint32_t count, required; /* operands; those not optional */
    PtxOperandRule *operands;
} PtxSignature;

/* A mnemonic and the rows it matches. */
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
    bool labels_allowed; /* an unknown name in the operands is a label */
    uint32_t declared; /* registers */
    uint64_t initialized; /* bytes of initializers */
    uint32_t file, source_line; /* of the last .loc */
    uint32_t depth; /* of nesting, against PTX_MAX_DEPTH */
    jmp_buf exit;
} PtxParser;

/* entry.c */
_Noreturn void ptx_fail(PtxParser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void ptx_fail_status(PtxParser *p, PtxStatus status, uint32_t line, uint32_t column,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));
_Noreturn void ptx_fail_memory(PtxParser *p);
/* "expected ..., found <token>" at the current token. */
_Noreturn void ptx_fail_expected(PtxParser *p, const char *what);
void *ptx_new(PtxParser *p, size_t size);
void ptx_vector_grow(PtxParser *p, PtxVector *vector, size_t item_size);
/* One more item at the end of a vector, zeroed; the address holds until the next push. */
static inline void *ptx_push(PtxParser *p, PtxVector *vector, size_t item_size)
{
    if (vector->count == vector->capacity) ptx_vector_grow(p, vector, item_size);
    char *item = (char *)vector->items + vector->count++ * item_size;
    return memset(item, 0, item_size);
}
/* Items from..count as an array of the module; the vector is cut back to `from`. */
void *ptx_take(PtxParser *p, PtxVector *vector, uint32_t from, size_t item_size);
void ptx_enter(PtxParser *p);
void ptx_leave(PtxParser *p);

/* log.c */
void ptx_report_list(const PtxModule *module, PtxLog *log, PtxStatus status, uint32_t line, uint32_t column,
                     const char *format, va_list list) __attribute__((format(printf, 6, 0)));

/* lexer.c */
void ptx_next(PtxParser *p);
/* The next token where a statement starts: a mnemonic is one with its dots. */
void ptx_next_statement(PtxParser *p);
/* The name at hand with the dotted words that follow it. */
PtxName *ptx_mnemonic(PtxParser *p);
void ptx_skip_to_brace(PtxParser *p);
bool ptx_reread_number(PtxParser *p);
/* A numbered register at hand becomes an interned name; other tokens stay as they are. */
void ptx_intern_numbered(PtxParser *p);
static inline bool ptx_is(const PtxParser *p, unsigned sign)
{
    return p->tok.kind == PTX_TOKEN_PUNCTUATION && p->tok.sign == sign;
}
bool ptx_is_directive(const PtxParser *p, PtxDirective directive);
bool ptx_accept(PtxParser *p, unsigned sign);
bool ptx_accept_directive(PtxParser *p, PtxDirective directive);
void ptx_expect(PtxParser *p, unsigned sign);
PtxName *ptx_expect_name(PtxParser *p, const char *what);

/* vocabulary.c */
void ptx_vocabulary_init(void);
/* What a spelling means by itself, nothing for most. */
const PtxName *ptx_word(const char *text, size_t length);
/* The place of a word of a mnemonic in a PtxWordSet. */
unsigned ptx_word_index(const PtxName *word);
/* Adds the alternatives at the start of a row's text to a set. Returns where they end. */
const char *ptx_alternatives(const char *at, PtxWordSet *set);

/* names.c */
uint32_t ptx_hash(const char *text, size_t length);
void ptx_preserve(PtxParser *p);
PtxName *ptx_intern(PtxParser *p, const char *text, size_t length);
/* NULL when the spelling was not seen yet. */
PtxName *ptx_seen(const PtxParser *p, const char *text, size_t length);
void ptx_names_init(PtxParser *p);
void ptx_names_free(PtxParser *p);

/* symbols.c */
void ptx_open_scope(PtxParser *p);
void ptx_close_scope(PtxParser *p);
PtxSymbol *ptx_declare(PtxParser *p, PtxSymbolKind kind, PtxName *name, uint32_t line, uint32_t column);
PtxSymbol *ptx_declare_range(PtxParser *p, PtxName *name, uint32_t line, uint32_t column);
/* The register of a name, of a vector that of component `part`; UINT32_MAX if the name is no register.
 * *vector: how many registers the name stands for. The first use gives a register its number. */
uint32_t ptx_find_register(PtxParser *p, PtxName *name, uint32_t part, uint32_t *vector);
/* The range in sight that has a register of that number; NULL: there is none. */
static inline PtxSymbol *ptx_find_range(const PtxName *prefix, uint32_t number)
{
    PtxSymbol *range = prefix->range;
    while (range && number >= range->count) range = range->outer;
    return range;
}
/* As ptx_find_register(), for a register of a range in sight that is not one of vectors. */
uint32_t ptx_find_numbered(PtxParser *p, const PtxName *prefix, uint32_t number);
void ptx_add_fixup(PtxParser *p, PtxName *name, PtxOperand *operand, PtxLabel **label, uint32_t line,
                   uint32_t column);

/* constant.c */
typedef struct PtxConstant {
    uint8_t type; /* PTX_s64 PTX_u64 PTX_f32 PTX_f64 */
    uint64_t bits;
    PtxVariable *variable; /* of an address, bits is then the offset; NULL: a number */
    PtxFunction *function;
    bool generic;
    bool masked; /* 0xff00(x): mask is that */
    uint64_t mask;
} PtxConstant;
PtxConstant ptx_constant(PtxParser *p);
/* As ptx_constant(), but a number: an address is an error. */
PtxConstant ptx_constant_number(PtxParser *p);
int64_t ptx_constant_integer(PtxParser *p);
/* A float's bits as those of another float type, an integer's unchanged. */
uint64_t ptx_convert_bits(PtxType from, uint64_t bits, PtxType to);

/* initializer.c */
void ptx_initializer(PtxParser *p, PtxVariable *variable);

/* directives.c, variables.c */
void ptx_module(PtxParser *p);
bool ptx_is_space(const PtxParser *p);
void ptx_variable_statement(PtxParser *p, PtxLinkage linkage);
PtxVariable *ptx_parameter(PtxParser *p, bool is_entry, bool may_be_unnamed);
PtxVariable **ptx_parameter_list(PtxParser *p, bool is_entry, bool may_be_unnamed, uint32_t *count);
PtxType ptx_type_directive(PtxParser *p);
void ptx_loc(PtxParser *p);
void ptx_file(PtxParser *p);
void ptx_section(PtxParser *p);
void ptx_skip_to_semicolon(PtxParser *p);
uint32_t ptx_number(PtxParser *p, const char *what, uint64_t max);
/* An integer without operators; one of more than 32 bits becomes UINT32_MAX. */
uint32_t ptx_plain_integer(PtxParser *p, const char *what);

/* functions.c */
void ptx_function(PtxParser *p, PtxLinkage linkage);
void ptx_alias(PtxParser *p);

/* statement.c, operand.c */
void ptx_body(PtxParser *p);
void ptx_register_declaration(PtxParser *p);
uint32_t ptx_operand_list(PtxParser *p);
void ptx_call_operands(PtxParser *p);

/* form.c, check.c */
PtxRule *ptx_rule(PtxParser *p, PtxName *mnemonic, uint32_t line, uint32_t column);
void ptx_rules_init(PtxParser *p);
/* form_rules.c */
void ptx_check_form(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column);
/* version_checks.c */
void ptx_check_versions(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column);
/* check_call.c */
void ptx_check_call(PtxParser *p, const PtxInsn *insn);
void ptx_check(PtxParser *p, const PtxRule *rule, const PtxInsn *insn);

/* operand_rules.c */
extern const char *const ptx_row_operands[];
void ptx_signature(PtxParser *p, const PtxForm *form, const char *text, PtxSignature *signature);

#endif
