/* See word_map.h. */
#include "core/word_map.h"

#include <stdlib.h>
#include <string.h>

/* A key and its value. */
struct WordEntry {
    uint64_t hash;
    size_t length;
    void *value;
    uint64_t words[];
};

enum { FIRST_CAPACITY = 16 };

/* The multiplication carries differences between words to the upper half of the hash; the last step carries
 * them to the lower half, of which the index is made. */
static uint64_t hash_of(const uint64_t *words, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++) {
        hash ^= words[i];
        hash = (hash << 23 | hash >> 41) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash ^ hash >> 32;
}

static bool is_same(const WordEntry *entry, uint64_t hash, const uint64_t *words, size_t length)
{
    return entry->hash == hash && entry->length == length
           && memcmp(entry->words, words, length * sizeof *words) == 0;
}

/* The place of the entry with that key; if there is none, the empty place where it has to be inserted. */
static WordEntry **entry_link(WordEntry **entries, size_t capacity, uint64_t hash, const uint64_t *words,
                              size_t length)
{
    size_t i = hash & (capacity - 1);
    while (entries[i] && !is_same(entries[i], hash, words, length)) i = (i + 1) & (capacity - 1);
    return &entries[i];
}

void *word_map_find(const WordMap *map, const uint64_t *words, size_t length)
{
    if (!map->count) return NULL;
    const WordEntry *entry = *entry_link(map->entries, map->capacity, hash_of(words, length), words, length);
    return entry ? entry->value : NULL;
}

/* Makes room for one more entry; false if out of memory. */
static bool grow(WordMap *map)
{
    size_t capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY;
    if (2 * (map->count + 1) <= map->capacity) return true;
    WordEntry **entries = calloc(capacity, sizeof *entries);
    if (!entries) return false;
    for (size_t i = 0; i < map->capacity; i++) {
        WordEntry *entry = map->entries[i];
        if (entry) *entry_link(entries, capacity, entry->hash, entry->words, entry->length) = entry;
    }
    free(map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

bool word_map_put(WordMap *map, const uint64_t *words, size_t length, void *value, void **before)
{
    uint64_t hash = hash_of(words, length);
    if (!grow(map)) return false;
    WordEntry **place = entry_link(map->entries, map->capacity, hash, words, length), *entry = *place;
    *before = entry ? entry->value : NULL;
    if (!entry) {
        if (!(entry = malloc(sizeof *entry + length * sizeof *words))) return false;
        entry->hash = hash;
        entry->length = length;
        memcpy(entry->words, words, length * sizeof *words);
        *place = entry;
        map->count++;
    }
    entry->value = value;
    return true;
}

void *word_map_next(const WordMap *map, size_t *position)
{
    while (*position < map->capacity) {
        const WordEntry *entry = map->entries[(*position)++];
        if (entry) return entry->value;
    }
    return NULL;
}

void word_map_clear(WordMap *map)
{
    for (size_t i = 0; i < map->capacity; i++) free(map->entries[i]);
    free(map->entries);
    *map = (WordMap){0};
}
