/* An arena: memory that is allocated in pieces and freed as a whole.
 *
 * It takes blocks from chunks.h, each twice as large as the one before up to a limit, and hands them out from
 * front to back. When memory runs out it jumps to on_failure, so that the passes of lower/ need no check at
 * each of their arrays; an arena without on_failure returns NULL.
 */
#ifndef DEVICE_PTX_ARENA_H
#define DEVICE_PTX_ARENA_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/chunks.h"

enum { ARENA_ALIGN_ANY = 16 }; /* fits any object */

typedef struct Arena {
    struct ArenaBlock *newest;
    uint8_t *next, *end;   /* free part of the newest block */
    jmp_buf *on_failure;   /* or NULL */
    Chunks *chunks;        /* where blocks come from, or NULL */
} Arena;

/* Uninitialized bytes, aligned for `align`, a power of two up to 64. */
void *arena_alloc(Arena *arena, size_t size, size_t align);
/* Zeroed memory for count elements, aligned for any object. */
void *arena_zeros(Arena *arena, size_t count, size_t size);
/* A copy of a string. */
const char *arena_string(Arena *arena, const char *text);
/* Copies an array of `count` elements to one of a larger capacity, which *capacity
 * becomes. Returns the new one. Needs on_failure. */
void *arena_larger(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size);
/* Capacity for at least one more element of a growing array: returns the array, moved if need be. Needs
 * on_failure. */
static inline void *arena_grow(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    return count < *capacity ? array : arena_larger(arena, array, count, capacity, size);
}
/* Frees everything; the arena may be used again. */
void arena_free(Arena *arena);

#define ARENA_ARRAY(arena, type, count) \
    ((type *)arena_alloc((arena), (size_t)(count) * sizeof(type), _Alignof(type)))
#define ARENA_ZEROS(arena, type, count) ((type *)arena_zeros((arena), (count), sizeof(type)))

#endif
