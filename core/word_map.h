/* A hash map from sequences of words to pointers, looked up in a few dozen instructions.
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

/* Zero-initialized: empty. */
typedef struct WordMap {
    size_t count, capacity; /* capacity is a power of two, or 0 */
    WordEntry **entries; /* owned */
} WordMap;

/* The value for a key of `length` words; NULL if there is none. */
void *word_map_find(const WordMap *map, const uint64_t *words, size_t length);

/* Sets the value, which is not NULL, for a key. *before: the value that it replaces, or NULL. False if out of
 * memory; then the map is unchanged. */
bool word_map_put(WordMap *map, const uint64_t *words, size_t length, void *value, void **before);

/* The values one after another, in any order, for repeated calls with the same *position, which the caller
 * sets to 0 first. NULL after the last. */
void *word_map_next(const WordMap *map, size_t *position);

/* Empties the map and frees its memory. The values are not freed. */
void word_map_clear(WordMap *map);

#endif
