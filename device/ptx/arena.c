/* The arena: a list of blocks that double in size up to a limit, each handed out from front to back. */
#include "ptx/arena.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

typedef struct PtxBlock {
    struct PtxBlock *older;
    size_t size;           /* with this */
    _Alignas(ALIGNMENT) char bytes[];
} PtxBlock;

static int ptx_arena_grow(PtxArena *arena, size_t size)
{
    size_t wanted = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (wanted > LARGEST_BLOCK) wanted = LARGEST_BLOCK;
    if (wanted < sizeof(PtxBlock) + size) wanted = sizeof(PtxBlock) + size;
    PtxBlock *block = chunks_take(arena->chunks, &wanted);
    if (!block) return -1;
    block->older = arena->blocks;
    block->size = wanted;
    arena->blocks = block;
    arena->next = block->bytes;
    arena->end = (char *)block + wanted;
    return 0;
}

void *ptx_arena_get(PtxArena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if ((size_t)(arena->end - arena->next) < size && ptx_arena_grow(arena, size)) return NULL;
    void *result = arena->next;
    arena->next += size;
    return result;
}

void *ptx_arena_zeros(PtxArena *arena, size_t size)
{
    void *result = ptx_arena_get(arena, size);
    return result ? memset(result, 0, size) : NULL;
}

void ptx_arena_free(PtxArena *arena)
{
    for (PtxBlock *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        chunks_give(arena->chunks, block, block->size);
    }
    *arena = (PtxArena){.chunks = arena->chunks};
}
