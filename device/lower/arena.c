/* Chunks of memory, each at least twice as large as what is asked of it. */
#include "lower/arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIZE = 256 * 1024, ARENA_ALIGN = 64 };

struct ArenaChunk {
    ArenaChunk *older;
    uint8_t *end;
};

static void arena_add_chunk(Arena *arena, size_t size)
{
    size_t bytes = size + sizeof(ArenaChunk) + ARENA_ALIGN;
    if (bytes < CHUNK_SIZE) bytes = CHUNK_SIZE;
    ArenaChunk *chunk = size > SIZE_MAX / 2 ? NULL : malloc(bytes);
    if (!chunk) longjmp(*arena->on_failure, 1);
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = (uint8_t *)(chunk + 1);
    arena->end = chunk->end = (uint8_t *)chunk + bytes;
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

void *lower_arena_grow(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    void *moved = lower_arena_alloc(arena, (size_t)larger * size, 16);
    if (count) memcpy(moved, array, (size_t)count * size);
    *capacity = larger;
    return moved;
}

void lower_arena_reset(Arena *arena)
{
    ArenaChunk *kept = arena->chunks;
    if (!kept) return;
    arena->chunks = kept->older;
    lower_arena_free(arena);
    kept->older = NULL;
    arena->chunks = kept;
    arena->next = (uint8_t *)(kept + 1);
    arena->end = kept->end;
}

void lower_arena_free(Arena *arena)
{
    while (arena->chunks) {
        ArenaChunk *older = arena->chunks->older;
        free(arena->chunks);
        arena->chunks = older;
    }
    arena->next = arena->end = NULL;
}
