/* A map from words to things: what is remembered for calls of one form, found in a few dozen instructions.
 *
 * Keys are sequences of 64-bit words, compared as such; they are copied. Open addressing, at most half full.
 * Nothing is locked.
 */
#ifndef CORE_WORD_MAP_H
#define CORE_WORD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct WordEntry WordEntry;

/* All zero is an empty one. */
typedef struct WordMap {
    size_t count, room; /* room is a power of two, or 0 */
    WordEntry **entries; /* owned */
} WordMap;

/* NULL when there is none. */
void *word_map_find(const WordMap *map, const uint64_t *words, size_t length);

/* value is not NULL; *before is what it takes the place of, or NULL. False, and nothing changed, when memory
 * is short. */
bool word_map_put(WordMap *map, const uint64_t *words, size_t length, void *value, void **before);

/* The values one after another, in any order: *position is 0 at first. NULL after the last. */
void *word_map_next(const WordMap *map, size_t *position);

/* Makes it an empty one, without a look at the values. */
void word_map_clear(WordMap *map);

#endif
