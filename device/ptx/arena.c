/* See arena.h. */
#include "ptx/arena.h"

#include <string.h>

enum { FIRST_BLOCK = 16 << 10, MAX_BLOCK = 256 << 10, MAX_ALIGN = 64, FIRST_CAPACITY = 16 };

typedef struct ArenaBlock {
    struct ArenaBlock *older;
    size_t size;           /* including this header */
} ArenaBlock;

static void *allocation_failed(const Arena *arena)
{
    if (arena->on_failure) longjmp(*arena->on_failure, 1);
    return NULL;
}

/* Gets a new block with room for `size` aligned bytes; false if out of memory. */
static bool add_block(Arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) return false;
    size_t min = sizeof(ArenaBlock) + size + MAX_ALIGN;
    size_t wanted = arena->newest ? arena->newest->size * 2 : FIRST_BLOCK;
    if (wanted > MAX_BLOCK) wanted = MAX_BLOCK;
    if (wanted < min) wanted = min;
    ArenaBlock *block = chunks_take(arena->chunks, &wanted);
    if (!block) return false;
    block->older = arena->newest;
    block->size = wanted;
    arena->newest = block;
    arena->next = (uint8_t *)(block + 1);
    arena->end = (uint8_t *)block + wanted;
    return true;
}

void *arena_alloc(Arena *arena, size_t size, size_t align)
{
    size_t pad = -(uintptr_t)arena->next & (align - 1), left = (size_t)(arena->end - arena->next);
    if (!arena->next || left < pad || left - pad < size) {
        if (!add_block(arena, size)) return allocation_failed(arena);
        pad = -(uintptr_t)arena->next & (align - 1);
    }
    void *memory = arena->next + pad;
    arena->next += pad + size;
    return memory;
}

void *arena_zeros(Arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return allocation_failed(arena);
    void *memory = arena_alloc(arena, bytes, ARENA_ALIGN_ANY);
    return memory ? memset(memory, 0, bytes) : NULL;
}

const char *arena_string(Arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

void *arena_larger(Arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    uint32_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void *grown = arena_alloc(arena, (size_t)larger * size, ARENA_ALIGN_ANY);
    if (count) memcpy(grown, array, (size_t)count * size);
    *capacity = larger;
    return grown;
}

void arena_free(Arena *arena)
{
    for (ArenaBlock *block = arena->newest, *older; block; block = older) {
        older = block->older;
        chunks_return(arena->chunks, block, block->size);
    }
    arena->newest = NULL;
    arena->next = arena->end = NULL;
}
