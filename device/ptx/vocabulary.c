/* What spellings mean by themselves: opcodes, words of mnemonics, directives, special registers, and the sets
 * of words that the rows of instructions.def name. It follows from the tables alone, so it is made once, by
 * the first thread that reads PTX, and never changes.
 */
#include <pthread.h>
#include <string.h>

#include "ptx/parser.h"

enum {
    NUMBERED_MEMBERS = 0
#define SPECIAL(name, type, components)
#define NUMBERED(name, type, count) +(count)
#include "ptx/special.def"
    ,
    CLASS_COUNT = 0
#define CLASS(name, words) +1
#include "ptx/classes.def"
    ,
    MAX_WORDS = PTX_OP_COUNT + PTX_MOD_COUNT + PTX_TYPE_COUNT + PTX_SPACE_COUNT + PTX_DIRECTIVE_COUNT + 3
                + PTX_SPECIAL_COUNT + NUMBERED_MEMBERS + CLASS_COUNT,
    SLOTS = 4096,
    MAX_TEXT = 0 /* "%", the name and its NUL; of a numbered one up to two digits more, and "_64" */
#define SPECIAL(name, type, components) +(1 + sizeof #name)
#define NUMBERED(name, type, count) +(count) * (1 + sizeof #name + 2 + 3)
#include "ptx/special.def"
};
_Static_assert(MAX_WORDS < SLOTS / 2, "a table for all words");

static struct {
    PtxName words[MAX_WORDS];
    uint16_t slots[SLOTS]; /* number of a word + 1; 0: free */
    uint32_t count;
    PtxWordSet classes[CLASS_COUNT];
    char text[MAX_TEXT]; /* of names that no table spells */
    size_t text_length;
} vocabulary;

/* The slot of a spelling, or the free one where it belongs. */
static uint16_t *slot_of(const char *text, size_t length)
{
    uint16_t *slot;
    for (uint32_t at = ptx_hash(text, length); *(slot = &vocabulary.slots[at % SLOTS]); at++) {
        const PtxName *word = &vocabulary.words[*slot - 1];
        if (word->length == length && !memcmp(word->text, text, length)) break;
    }
    return slot;
}

static const PtxName *find_word(const char *text, size_t length)
{
    uint16_t number = *slot_of(text, length);
    return number ? &vocabulary.words[number - 1] : NULL;
}

/* The word with that spelling, added unless another table has added it. It keeps the pointer to the text. */
static PtxName *add(const char *text)
{
    size_t length = strlen(text);
    uint16_t *slot = slot_of(text, length);
    if (!*slot) {
        vocabulary.words[vocabulary.count] = (PtxName){.text = text, .length = (uint32_t)length};
        *slot = (uint16_t)++vocabulary.count;
    }
    return &vocabulary.words[*slot - 1];
}

/* Adds a word of mnemonics; `number` is its PtxModifier, PtxType or PtxSpace, or the n of .vn. */
static void add_word(const char *text, PtxWordKind kind, unsigned number)
{
    PtxName *word = add(text);
    word->word_kind = (uint8_t)kind;
    word->word = (uint16_t)number;
}

/* "%" and the parts, in vocabulary.text. */
static const char *join_name(const char *name, const char *digits, const char *rest)
{
    const char *parts[] = {"%", name, digits, rest}, *text = vocabulary.text + vocabulary.text_length;
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(parts[i]);
        memcpy(vocabulary.text + vocabulary.text_length, parts[i], length);
        vocabulary.text_length += length;
    }
    vocabulary.text_length++;
    return text;
}

static void add_special(PtxSpecial special, unsigned component, const char *text)
{
    PtxName *word = add(text);
    word->special = (uint16_t)special;
    word->component = (uint16_t)component;
}

/* Adds %tid, or all of a numbered family: %envreg0 to %envreg31. Of %pm0_64 the number is in the middle. */
static void add_specials(PtxSpecial special)
{
    const PtxSpecialInfo *info = &ptx_specials[special];
    if (!info->numbered) {
        add_special(special, 0, join_name(info->name, "", ""));
        return;
    }
    for (unsigned i = 0; i < info->components; i++) {
        char digits[] = {(char)('0' + i / 10), (char)('0' + i % 10), 0};
        bool middle = special == PTX_SPECIAL_pm64_;
        add_special(special, i,
                    join_name(middle ? "pm" : info->name, i > 9 ? digits : digits + 1, middle ? "_64" : ""));
    }
}

unsigned ptx_word_index(const PtxName *word)
{
    switch (word->word_kind) {
    case PTX_WORD_MODIFIER: return word->word;
    case PTX_WORD_TYPE: return PTX_MOD_COUNT + word->word;
    case PTX_WORD_SPACE: return PTX_MOD_COUNT + PTX_TYPE_COUNT + word->word;
    case PTX_WORD_VECTOR: return PTX_MOD_COUNT + PTX_TYPE_COUNT + PTX_SPACE_COUNT + word->word;
    default: return 0;
    }
}

/* alternatives = (".word" | "<class>") ("|" ...)*, up to a blank, a brace or the end */
const char *ptx_alternatives(const char *at, PtxWordSet *set)
{
    for (;; at++) {
        bool is_class = *at++ == '<';
        size_t length = strcspn(at, is_class ? ">" : "| }");
        const PtxName *word = find_word(at, length);
        unsigned index = word ? ptx_word_index(word) : 0;
        at += length + is_class;
        if (!is_class)
            set->words[index / 64] |= 1ull << index % 64;
        else if (word && word->class)
            for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++)
                set->words[i] |= vocabulary.classes[word->class - 1].words[i];
        if (*at != '|') return at;
    }
}

/* Adds the set of words of a row of classes.def, counted from 1. */
static void add_class(unsigned number, const char *name, const char *words)
{
    ptx_alternatives(words, &vocabulary.classes[number - 1]);
    add(name)->class = (uint16_t)number;
}

static void make_vocabulary(void)
{
    for (unsigned i = 1; i < PTX_OP_COUNT; i++) add(ptx_opcode_names[i])->opcode = (uint16_t)i;
    for (unsigned i = 1; i < PTX_MOD_COUNT; i++) add_word(ptx_modifiers[i].spelling, PTX_WORD_MODIFIER, i);
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++) add_word(ptx_types[i].name, PTX_WORD_TYPE, i);
    for (unsigned i = 1; i < PTX_SPACE_COUNT; i++) add_word(ptx_space_names[i], PTX_WORD_SPACE, i);
    add_word("v2", PTX_WORD_VECTOR, 2);
    add_word("v4", PTX_WORD_VECTOR, 4);
    add_word("v8", PTX_WORD_VECTOR, 8);
#define DIRECTIVE(name) add(#name)->directive = PTX_DIRECTIVE_##name;
#include "ptx/directives.def"
    for (unsigned i = 1; i < PTX_SPECIAL_COUNT; i++) add_specials((PtxSpecial)i);
    unsigned number = 0;
#define CLASS(name, words) add_class(++number, #name, words);
#include "ptx/classes.def"
}

void ptx_vocabulary_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_vocabulary);
}

const PtxName *ptx_word(const char *text, size_t length)
{
    static const PtxName none;
    const PtxName *word = find_word(text, length);
    return word ? word : &none;
}
