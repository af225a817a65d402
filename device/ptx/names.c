/* Interned names: a hash table of every spelling seen in a text.
 *
 * A name has what its spelling means by itself (vocabulary.c), and its declaration in scope. One such as %r7
 * has its prefix %r, by which %r<100> is found.
 */
#include <string.h>

#include "ptx/parser.h"

enum { FIRST_SLOTS = 256, SHORT = 8 /* characters that a key has as they are */ };
/* Odd numbers with well mixed bits. */
static const uint64_t mix_words = 0xff51afd7ed558ccd, mix_bytes = 0x9e3779b97f4a7c15;

/* A spelling of up to eight characters as they are, so that no other has its key; of a longer one a hash,
 * whose low byte is 0, as that of no short spelling is. */
static uint64_t ptx_key(const char *text, size_t length)
{
    uint64_t key = 0, word;
    if (length > SHORT) {
        for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
            memcpy(&word, text, sizeof word);
            key = (key ^ word ^ length) * mix_words;
            key ^= key >> 32;
        }
        for (; length; length--) key = (key ^ (unsigned char)text[length - 1]) * mix_bytes;
        return key << 8;
    }
    for (; length; length--) key = key << 8 | (unsigned char)text[length - 1];
    return key;
}

/* Where to look for a key in a table: its bits mixed. */
static uint32_t ptx_spread(uint64_t key)
{
    key = (key ^ key >> 32) * mix_words;
    return (uint32_t)(key >> 32);
}

uint32_t ptx_hash(const char *text, size_t length) { return ptx_spread(ptx_key(text, length)); }

/* Doubles the table, or makes the first one. */
static void ptx_names_grow(PtxParser *p)
{
    PtxNames *names = &p->names;
    uint32_t size = names->size ? names->size * 2 : FIRST_SLOTS;
    size_t bytes = size * sizeof(PtxSlot);
    bool overflows = size <= names->size;
    PtxSlot *slots = overflows ? NULL : chunks_take(p->options.chunks, &bytes);
    if (!slots) ptx_fail_memory(p);
    memset(slots, 0, size * sizeof *slots);
    for (uint32_t i = 0; i < names->size; i++)
        if (names->slots[i].name) {
            uint32_t at = ptx_spread(names->slots[i].key);
            while (slots[at & (size - 1)].name) at++;
            slots[at & (size - 1)] = names->slots[i];
        }
    ptx_names_free(p);
    names->slots = slots;
    names->size = size;
}

void ptx_names_free(PtxParser *p)
{
    chunks_return(p->options.chunks, p->names.slots, p->names.size * sizeof(PtxSlot));
}

/* Sets prefix and number of a name that may be a register of a range: one that
 * ends with a number without leading zeros. */
static void ptx_split_number(PtxParser *p, PtxName *name)
{
    uint32_t digits = 0, length = name->length;
    while (digits < length && name->text[length - 1 - digits] >= '0'
           && name->text[length - 1 - digits] <= '9')
        digits++;
    const char *number = name->text + length - digits;
    if (!digits || digits == length || digits > PTX_MAX_NUMBER_DIGITS || (digits > 1 && *number == '0'))
        return;
    for (uint32_t i = 0; i < digits; i++) name->number = name->number * 10 + (uint32_t)(number[i] - '0');
    name->prefix = ptx_intern(p, name->text, length - digits);
}

static PtxName *ptx_name_new(PtxParser *p, const char *text, size_t length)
{
    PtxName *name = ptx_new(p, sizeof *name + length + 1);
    char *copy = (char *)(name + 1);
    *name = *ptx_word(text, length);
    name->text = memcpy(copy, text, length);
    name->length = (uint32_t)length;
    return name;
}

/* The slot of a spelling, or the free one where it belongs. */
static PtxSlot *ptx_slot(const PtxNames *names, const char *text, size_t length, uint64_t key)
{
    PtxSlot *slot;
    for (uint32_t at = ptx_spread(key); (slot = &names->slots[at & (names->size - 1)])->name; at++) {
        if (slot->key != key) continue;
        if (length <= SHORT || (slot->name->length == length && !memcmp(slot->name->text, text, length)))
            break;
    }
    return slot;
}

PtxName *ptx_seen(const PtxParser *p, const char *text, size_t length)
{
    return ptx_slot(&p->names, text, length, ptx_key(text, length))->name;
}

PtxName *ptx_intern(PtxParser *p, const char *text, size_t length)
{
    PtxNames *names = &p->names;
    uint64_t key = ptx_key(text, length);
    PtxSlot *slot = ptx_slot(names, text, length, key);
    if (slot->name) return slot->name;
    PtxName *name = ptx_name_new(p, text, length);
    *slot = (PtxSlot){name, key};
    if (++names->count > names->size / 2) ptx_names_grow(p);
    ptx_split_number(p, name);
    return name;
}

void ptx_names_init(PtxParser *p)
{
    ptx_vocabulary_init();
    ptx_names_grow(p);
    p->warp_size = ptx_intern(p, "WARP_SZ", strlen("WARP_SZ"));
    p->generic = ptx_intern(p, "generic", strlen("generic"));
    p->sink = ptx_intern(p, "_", 1);
}
