/* Interned names: a hash table of every spelling seen, the vocabulary put in first.
 *
 * A name carries what its spelling means: opcode, word of a mnemonic, directive, special register, and
 * the declaration now in sight. %r7 also knows its prefix %r, to find it in %r<100>.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

enum { FIRST_SLOTS = 2048 };

static uint32_t ptx_hash(const char *text, size_t length)
{
    uint64_t hash = length * 0x9e3779b97f4a7c15u, word;
    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    for (size_t i = 0; i < length; i++) word = word << 8 | (unsigned char)text[i];
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return (uint32_t)(hash ^ hash >> 32);
}

static void ptx_names_grow(PtxParser *p)
{
    PtxNames *names = &p->names;
    uint32_t size = names->size ? names->size * 2 : FIRST_SLOTS;
    PtxSlot *slots = size > names->size ? calloc(size, sizeof *slots) : NULL;
    if (!slots) ptx_fail_memory(p);
    for (uint32_t i = 0; i < names->size; i++)
        if (names->slots[i].name) {
            uint32_t at = names->slots[i].hash;
            while (slots[at & (size - 1)].name) at++;
            slots[at & (size - 1)] = names->slots[i];
        }
    free(names->slots);
    names->slots = slots;
    names->size = size;
}

/* A number at the end, of at most 7 digits and without leading zeros, makes a name one of a range. */
static void ptx_split_number(PtxParser *p, PtxName *name)
{
    uint32_t digits = 0, length = name->length;
    while (digits < length && name->text[length - 1 - digits] >= '0' && name->text[length - 1 - digits] <= '9')
        digits++;
    const char *number = name->text + length - digits;
    if (!digits || digits == length || digits > 7 || (digits > 1 && *number == '0')) return;
    for (uint32_t i = 0; i < digits; i++) name->number = name->number * 10 + (uint32_t)(number[i] - '0');
    name->prefix = ptx_intern(p, name->text, length - digits);
}

static PtxName *ptx_name_new(PtxParser *p, const char *text, size_t length)
{
    PtxName *name = ptx_new(p, sizeof *name + length + 1);
    char *copy = (char *)(name + 1);
    name->text = memcpy(copy, text, length);
    name->length = (uint32_t)length;
    return name;
}

PtxName *ptx_intern(PtxParser *p, const char *text, size_t length)
{
    PtxNames *names = &p->names;
    uint32_t hash = ptx_hash(text, length), at = hash;
    for (const PtxSlot *slot; (slot = &names->slots[at & (names->size - 1)])->name; at++)
        if (slot->hash == hash && slot->name->length == length && !memcmp(slot->name->text, text, length))
            return slot->name;
    PtxName *name = ptx_name_new(p, text, length);
    names->slots[at & (names->size - 1)] = (PtxSlot){name, hash};
    if (++names->count > names->size / 2) ptx_names_grow(p);
    ptx_split_number(p, name);
    return name;
}

static PtxName *ptx_intern_text(PtxParser *p, const char *text) { return ptx_intern(p, text, strlen(text)); }

static void ptx_add_word(PtxParser *p, const char *text, PtxWordKind kind, unsigned word)
{
    PtxName *name = ptx_intern_text(p, text);
    name->word_kind = (uint8_t)kind;
    name->word = (uint16_t)word;
}

/* %tid, and of a family %envreg0 ... ; %pm0_64 has its number inside. */
static void ptx_add_special(PtxParser *p, PtxSpecial special)
{
    const PtxSpecialInfo *info = &ptx_specials[special];
    for (unsigned i = 0; i < (info->numbered ? info->components : 1u); i++) {
        char text[48] = "%";
        size_t length = strlen(info->name);
        memcpy(text + 1, info->name, length + 1);
        if (special == PTX_SPECIAL_pm64_)
            memcpy(text, (char[]){'%', 'p', 'm', (char)('0' + i), '_', '6', '4', 0}, 8);
        else if (info->numbered && i > 9)
            memcpy(text + 1 + length, (char[]){(char)('0' + i / 10), (char)('0' + i % 10), 0}, 3);
        else if (info->numbered)
            memcpy(text + 1 + length, (char[]){(char)('0' + i), 0}, 2);
        PtxName *name = ptx_intern_text(p, text);
        name->special = (uint16_t)special;
        name->component = (uint16_t)i;
    }
}

void ptx_names_init(PtxParser *p)
{
    static const char *const directives[] = {
        [PTX_DIRECTIVE_NONE] = "",
#define DIRECTIVE(name) [PTX_DIRECTIVE_##name] = #name,
#include "ptx/directives.def"
    };
    ptx_names_grow(p);
    p->warp_size = ptx_intern_text(p, "WARP_SZ");
    p->generic = ptx_intern_text(p, "generic");
    p->sink = ptx_intern_text(p, "_");
    for (unsigned i = 1; i < PTX_OP_COUNT; i++) ptx_intern_text(p, ptx_opcode_names[i])->opcode = (uint16_t)i;
    for (unsigned i = 1; i < PTX_MOD_COUNT; i++)
        ptx_add_word(p, ptx_modifiers[i].spelling, PTX_WORD_MODIFIER, i);
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++) ptx_add_word(p, ptx_types[i].name, PTX_WORD_TYPE, i);
    for (unsigned i = 1; i < PTX_SPACE_COUNT; i++) ptx_add_word(p, ptx_space_names[i], PTX_WORD_SPACE, i);
    for (unsigned i = 2; i <= 8; i *= 2) ptx_add_word(p, (char[]){'v', (char)('0' + i), 0}, PTX_WORD_VECTOR, i);
    for (unsigned i = 1; i < PTX_DIRECTIVE_COUNT; i++)
        ptx_intern_text(p, directives[i])->directive = (uint16_t)i;
    for (unsigned i = 1; i < PTX_SPECIAL_COUNT; i++) ptx_add_special(p, (PtxSpecial)i);
}
