/* The arena: a list of blocks that double in size up to a limit, each handed out from front to back,
 * zeroed when it comes. */
#include "ptx/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

typedef struct PtxBlock {
    struct PtxBlock *older;
    size_t size;
    _Alignas(ALIGNMENT) char bytes[];
} PtxBlock;

static int ptx_arena_grow(PtxArena *arena, size_t size)
{
    size_t wanted = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (wanted > LARGEST_BLOCK) wanted = LARGEST_BLOCK;
    if (wanted < size) wanted = size;
    PtxBlock *block = calloc(1, sizeof(PtxBlock) + wanted);
    if (!block) return -1;
    block->older = arena->blocks;
    block->size = wanted;
    arena->blocks = block;
    arena->next = block->bytes;
    arena->end = block->bytes + wanted;
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

void ptx_arena_free(PtxArena *arena)
{
    for (PtxBlock *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        free(block);
    }
    *arena = (PtxArena){0};
}
