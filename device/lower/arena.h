/* Memory of a lowering: taken in chunks, given back all at once.
 *
 * Allocation never returns NULL: when memory runs out it jumps to the arena's on_failure, set by whoever
 * owns the arena, so that the passes need no check at each of their arrays.
 */
#ifndef DEVICE_LOWER_ARENA_H
#define DEVICE_LOWER_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/chunks.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *newest;
    uint8_t *next, *end;   /* free part of the newest */
    jmp_buf *on_failure;
    Chunks *chunks;        /* where they come from, or NULL */
} Arena;

void *lower_arena_alloc(Arena *arena, size_t size, size_t align);
/* Zeroed memory for count elements. */
void *lower_arena_zeros(Arena *arena, size_t count, size_t size);
/* A copy of a string. */
const char *lower_arena_string(Arena *arena, const char *text);
/* A growing array with room for one more element: the array, moved. */
void *lower_arena_larger(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size);
/* At least one more element of room in a growing array: returns the array, moved if need be. */
static inline void *lower_arena_grow(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    return count < *capacity ? array : lower_arena_larger(arena, array, count, capacity, size);
}
/* Frees everything; the arena may be used again. */
void lower_arena_free(Arena *arena);

#define ARENA_ARRAY(arena, type, count) \
    ((type *)lower_arena_alloc((arena), (size_t)(count) * sizeof(type), _Alignof(type)))
#define ARENA_ZEROS(arena, type, count) ((type *)lower_arena_zeros((arena), (count), sizeof(type)))

#endif
