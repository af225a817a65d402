/* Chunks of memory, each twice as large as the one before, up to a limit. */
#include "lower/arena.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 256 << 10, ARENA_ALIGN = 64 };

struct ArenaChunk {
    ArenaChunk *older;
    size_t size;           /* with this */
};

static void arena_add_chunk(Arena *arena, size_t size)
{
    size_t wanted = arena->newest ? arena->newest->size * 2 : FIRST_CHUNK;
    if (wanted > LARGEST_CHUNK) wanted = LARGEST_CHUNK;
    if (size > SIZE_MAX / 4) longjmp(*arena->on_failure, 1);
    if (wanted < size + sizeof(ArenaChunk) + ARENA_ALIGN) wanted = size + sizeof(ArenaChunk) + ARENA_ALIGN;
    ArenaChunk *chunk = chunks_take(arena->chunks, &wanted);
    if (!chunk) longjmp(*arena->on_failure, 1);
    chunk->older = arena->newest;
    chunk->size = wanted;
    arena->newest = chunk;
    arena->next = (uint8_t *)(chunk + 1);
    arena->end = (uint8_t *)chunk + wanted;
}

void *lower_arena_alloc(Arena *arena, size_t size, size_t align)
{
    size_t pad = -(uintptr_t)arena->next & (align - 1);
    if (!arena->next || (size_t)(arena->end - arena->next) < size + pad) {
        arena_add_chunk(arena, size);
        pad = -(uintptr_t)arena->next & (align - 1);
    }
    void *memory = arena->next + pad;
    arena->next += pad + size;
    return memory;
}

void *lower_arena_zeros(Arena *arena, size_t count, size_t size)
{
    return memset(lower_arena_alloc(arena, count * size, 16), 0, count * size);
}

const char *lower_arena_string(Arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(lower_arena_alloc(arena, size, 1), text, size);
}

void *lower_arena_larger(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    void *moved = lower_arena_alloc(arena, (size_t)larger * size, 16);
    if (count) memcpy(moved, array, (size_t)count * size);
    *capacity = larger;
    return moved;
}

void lower_arena_free(Arena *arena)
{
    for (ArenaChunk *chunk = arena->newest, *older; chunk; chunk = older) {
        older = chunk->older;
        chunks_give(arena->chunks, chunk, chunk->size);
    }
    arena->newest = NULL;
    arena->next = arena->end = NULL;
}
