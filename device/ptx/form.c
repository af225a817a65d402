/* Mnemonics: words decoded one by one, in any order, then matched with the rows of instructions.def.
 *
 * This happens once for each spelling of a module; instructions with that spelling share the result. The
 * rows of an opcode are read at its first use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

enum { MAX_ELEMENTS = 24 /* of a row */, MAX_MATCHES = 32 /* rows of a mnemonic */ };

/* Rows in the order of the table; an OPCODE is a row of its own, which ends the rows of the opcode before
 * it. */
enum {
#define PTX_JOIN2(a, b) a##b
#define PTX_JOIN(a, b) PTX_JOIN2(a, b)
#define OPCODE(name, section) PTX_ROW_##name,
#define FORM(modifiers, operands) PTX_JOIN(PTX_ROW_AT_LINE_, __LINE__),
#include "ptx/instructions.def"
    PTX_ROW_COUNT
};

static const uint16_t ptx_first_row[PTX_OP_COUNT] = {
#define OPCODE(name, section) [PTX_OP_##name] = PTX_ROW_##name + 1,
#define FORM(modifiers, operands)
#include "ptx/instructions.def"
};

/* The texts of each row; NULL in the row of an opcode, and at the end. */
static const char *const ptx_row_modifiers[PTX_ROW_COUNT + 1] = {
#define OPCODE(name, section) NULL,
#define FORM(modifiers, operands) modifiers,
#include "ptx/instructions.def"
};

const char *const ptx_row_operands[PTX_ROW_COUNT + 1] = {
#define OPCODE(name, section) NULL,
#define FORM(modifiers, operands) operands,
#include "ptx/instructions.def"
};

static bool ptx_contains(const PtxWordSet *set, unsigned word)
{
    return set->words[word / 64] >> word % 64 & 1;
}

void ptx_rules_init(PtxParser *p) { p->rows = ptx_new(p, PTX_ROW_COUNT * sizeof *p->rows); }

/* The modifiers of a row of instructions.def, parsed from its text when they are first requested:
 * elements = ("{" "^"? alternatives "}" | "^"? alternatives) (" " ...)* */
static const PtxRow *ptx_row(PtxParser *p, unsigned index)
{
    PtxRow *row = &p->rows[index];
    if (row->ready) return row;
    PtxElement elements[MAX_ELEMENTS] = {0};
    for (const char *at = ptx_row_modifiers[index]; *at; at += *at == ' ') {
        PtxElement *element = &elements[row->count++];
        element->optional = *at == '{';
        at += element->optional;
        element->leading = *at == '^';
        at = ptx_alternatives(at + element->leading, &element->set) + element->optional;
    }
    row->elements = ptx_new(p, row->count * sizeof *elements);
    memcpy(row->elements, elements, row->count * sizeof *elements);
    row->ready = true;
    return row;
}

/* Types, and spaces, stand in the order of the operands that they are about; other words stand anywhere. */
enum { ORDER_NONE, ORDER_OF_TYPES, ORDER_OF_SPACES, ORDERS };

static unsigned ptx_word_order(unsigned word)
{
    if (word < PTX_MOD_COUNT || word >= PTX_MOD_COUNT + PTX_TYPE_COUNT + PTX_SPACE_COUNT) return ORDER_NONE;
    return word < PTX_MOD_COUNT + PTX_TYPE_COUNT ? ORDER_OF_TYPES : ORDER_OF_SPACES;
}

/* Whether the words match a row. Each word takes the first free element that contains it; one with an order
 * takes none before that of the word before it. All required elements must be taken. */
static bool ptx_row_matches(const PtxRow *row, const uint16_t *words, unsigned count)
{
    uint32_t taken = 0; /* bit e: element e */
    unsigned next[ORDERS] = {0};
    for (unsigned w = 0; w < count; w++) {
        unsigned order = ptx_word_order(words[w]), e = next[order];
        while (e < row->count && (taken >> e & 1 || !ptx_contains(&row->elements[e].set, words[w]))) e++;
        if (e == row->count || (row->elements[e].leading && taken >> e)) return false;
        taken |= 1u << e;
        if (order != ORDER_NONE) next[order] = e + 1;
    }
    for (unsigned e = 0; e < row->count; e++)
        if (!row->elements[e].optional && !(taken >> e & 1)) return false;
    return true;
}

typedef struct PtxMnemonic {
    PtxName *name;
    uint32_t line, column;
    uint16_t words[PTX_MAX_MODIFIERS + PTX_MAX_TYPES + 4]; /* indices in a PtxWordSet, in order */
    uint16_t start[PTX_MAX_MODIFIERS + PTX_MAX_TYPES + 4]; /* where each stands in the text, its dot */
    unsigned count;
} PtxMnemonic;

/* Adds a word that stands in the mnemonic. */
static void ptx_form_add(PtxForm *form, const PtxName *word)
{
    switch (word->word_kind) {
    case PTX_WORD_TYPE: form->types[form->type_count++] = (uint8_t)word->word; break;
    case PTX_WORD_SPACE: form->spaces[form->space_count++] = (uint8_t)word->word; break;
    case PTX_WORD_VECTOR: form->vector = (uint8_t)word->word; break;
    default: {
        unsigned group = ptx_modifiers[word->word].group;
        form->modifiers[form->modifier_count++] = word->word;
        form->set[word->word / 64] |= 1ull << word->word % 64;
        if (!form->group[group]) form->group[group] = word->word;
    }
    }
}

/* The word of a mnemonic at `text`. Of the shapes of wgmma one word stands for each k, whatever the n: that
 * of m64n96k16 is m64nNk16, and form->columns becomes 96. */
static const PtxName *ptx_form_word(const char *text, size_t length, PtxForm *form)
{
    static const char start[] = "m64n";
    enum { COLUMNS_UNIT = 8, MAX_COLUMNS = 256, SIZE = 16 };
    char word[SIZE], *end;
    if (length >= SIZE || strncmp(text, start, strlen(start)) != 0) return ptx_word(text, length);
    const char *digits = text + strlen(start);
    unsigned long columns = strtoul(digits, &end, 10);
    bool valid = *digits >= '1' && *digits <= '9' && columns % COLUMNS_UNIT == 0 && columns <= MAX_COLUMNS;
    if (!valid) return ptx_word("", 0);
    form->columns = (uint16_t)columns;
    int written = snprintf(word, SIZE, "%sN%.*s", start, (int)(text + length - end), end);
    return ptx_word(word, (size_t)written);
}

/* mnemonic = opcode ("." word)* ; fills the words of *m, and *form but for what its row says */
static void ptx_decode(PtxParser *p, PtxMnemonic *m, PtxForm *form)
{
    const char *text = m->name->text, *at = text + strcspn(text, ".");
    const PtxName *opcode = ptx_word(text, (size_t)(at - text));
    if (!opcode->opcode) ptx_fail(p, m->line, m->column, "unknown instruction '%s'", text);
    form->spelling = text;
    form->opcode = opcode->opcode;
    if (!ptx_row_modifiers[ptx_first_row[opcode->opcode]]) {
        const char *why = ptx_refusal(form);
        ptx_fail(p, m->line, m->column, "'%s' is not supported by the CPU device%s%s", text, why ? ": " : "",
                 why ? why : "");
    }
    form->vector = 1;
    while (*at) {
        size_t length = strcspn(at + 1, ".");
        const PtxName *word = ptx_form_word(at + 1, length, form);
        uint32_t column = m->column + (uint32_t)(at - text);
        if (!word->word_kind)
            ptx_fail(p, m->line, column, "unknown modifier '.%.*s' of '%s'", (int)length, at + 1,
                     ptx_opcode_names[opcode->opcode]);
        if (m->count == sizeof m->words / sizeof *m->words || form->modifier_count == PTX_MAX_MODIFIERS
            || form->type_count == PTX_MAX_TYPES || form->space_count == PTX_MAX_SPACES)
            ptx_fail(p, m->line, column, "too many modifiers");
        ptx_form_add(form, word);
        m->words[m->count] = (uint16_t)ptx_word_index(word);
        m->start[m->count++] = (uint16_t)(at - text);
        at += 1 + length;
    }
}

/* Says which word no row of the opcode has, or that the words do not go together. */
static _Noreturn void ptx_fail_form(PtxParser *p, const PtxMnemonic *m, const PtxForm *form)
{
    unsigned first = ptx_first_row[form->opcode];
    for (unsigned w = 0; w < m->count; w++) {
        bool valid = false;
        for (unsigned i = first; ptx_row_modifiers[i] && !valid; i++) {
            const PtxRow *row = ptx_row(p, i);
            for (unsigned e = 0; e < row->count && !valid; e++)
                valid = ptx_contains(&row->elements[e].set, m->words[w]);
        }
        if (!valid) {
            const char *word = m->name->text + m->start[w];
            ptx_fail(p, m->line, m->column + m->start[w], "'%.*s' is not a modifier of '%s'",
                     (int)strcspn(word + 1, ".") + 1, word, ptx_opcode_names[form->opcode]);
        }
    }
    ptx_fail(p, m->line, m->column,
             "'%s' is not an instruction: a modifier or type is missing, or they do not go together",
             form->spelling);
}

/* Finds the rows that a mnemonic matches, and reads their operands. */
static void ptx_add_signatures(PtxParser *p, const PtxMnemonic *m, PtxRule *rule)
{
    unsigned rows[MAX_MATCHES], count = 0;
    for (unsigned i = ptx_first_row[rule->form.opcode]; ptx_row_modifiers[i] && count < MAX_MATCHES; i++)
        if (ptx_row_matches(ptx_row(p, i), m->words, m->count)) rows[count++] = i;
    if (!count) ptx_fail_form(p, m, &rule->form);
    rule->form.row = rows[0];
    rule->signature_count = count;
    rule->signatures = ptx_new(p, count * sizeof *rule->signatures);
    for (unsigned i = 0; i < count; i++) {
        rule->signatures[i].row = rows[i];
        ptx_signature(p, &rule->form, ptx_row_operands[rows[i]], &rule->signatures[i]);
    }
    const PtxSignature *first = &rule->signatures[0];
    for (uint32_t i = 0; i < first->count && i < PTX_TYPED_OPERANDS; i++)
        rule->form.operand_types[i] = first->operands[i].type;
}

/* Whether the words match a row of the opcode. */
static bool ptx_is_known(PtxParser *p, const PtxMnemonic *m, const PtxForm *form)
{
    for (unsigned i = ptx_first_row[form->opcode]; ptx_row_modifiers[i]; i++)
        if (ptx_row_matches(ptx_row(p, i), m->words, m->count)) return true;
    return false;
}

/* Adds a word that the mnemonic implies, if there is an instruction with it. */
static void ptx_imply(PtxParser *p, PtxMnemonic *m, PtxForm *form, const char *text)
{
    if (m->count == sizeof m->words / sizeof *m->words || form->modifier_count == PTX_MAX_MODIFIERS) return;
    const PtxName *word = ptx_word(text, strlen(text));
    m->start[m->count] = 0;
    m->words[m->count++] = (uint16_t)ptx_word_index(word);
    if (ptx_is_known(p, m, form))
        ptx_form_add(form, word);
    else
        m->count--;
}

/* Adds .ftz to instructions for sm_1x that can have it, since those GPUs had no subnormal
 * floats; to cvt from .f64 only since PTX 1.5. */
static void ptx_add_flush(PtxParser *p, PtxMnemonic *m, PtxForm *form)
{
    bool from_f64 = form->opcode == PTX_OP_cvt && form->types[1] == PTX_f64;
    if (p->module->target >= 20 || ptx_has(form, PTX_MOD_ftz) || (from_f64 && p->module->version < 15))
        return;
    ptx_imply(p, m, form, "ftz");
}

/* Before PTX 1.4 an instruction without a word for its rounding had one, which implied.def says. */
static void ptx_add_rounding(PtxParser *p, PtxMnemonic *m, PtxForm *form)
{
    static const struct {
        uint16_t opcode;
        uint8_t type;
        const char *word;
    } rows[] = {
#define IMPLIED(opcode, type, word) {PTX_OP_##opcode, PTX_##type, word},
#include "ptx/implied.def"
    };
    if (p->module->version >= 14 || ptx_is_known(p, m, form)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].opcode == form->opcode && rows[i].type == form->types[0])
            ptx_imply(p, m, form, rows[i].word);
}

PtxRule *ptx_rule(PtxParser *p, PtxName *name, uint32_t line, uint32_t column)
{
    if (name->rule) return name->rule;
    PtxMnemonic m = {.name = name, .line = line, .column = column};
    if (name->length > UINT16_MAX) ptx_fail(p, line, column, "unknown instruction");
    PtxRule *rule = ptx_new(p, sizeof *rule);
    ptx_decode(p, &m, &rule->form);
    ptx_add_rounding(p, &m, &rule->form);
    ptx_add_flush(p, &m, &rule->form);
    ptx_add_signatures(p, &m, rule);
    ptx_check_form(p, &rule->form, line, column);
    ptx_check_versions(p, &rule->form, line, column);
    rule->accepts_special = rule->form.opcode == PTX_OP_mov || rule->form.opcode == PTX_OP_cvt;
    rule->form.id = p->forms.count;
    *(const PtxForm **)ptx_push(p, &p->forms, sizeof(PtxForm *)) = &rule->form;
    return name->rule = rule;
}
