/* Free chunks in lists by size: see chunks.h. A "shift" is the logarithm of a chunk's size. */
#include "ptx/chunks.h"

#include <stdint.h>
#include <stdlib.h>

struct FreeChunk {
    FreeChunk *next;
};

/* The sanitizer finds no use of freed memory if it is kept here. */
#ifdef __SANITIZE_ADDRESS__
enum { MAX_KEPT = 0 };
#else
enum { MAX_KEPT = CHUNKS_KEPT };
#endif

static unsigned shift_of(size_t size)
{
    if (size <= (size_t)1 << CHUNK_SMALLEST_SHIFT) return CHUNK_SMALLEST_SHIFT;
    return 64u - (unsigned)__builtin_clzll(size - 1);
}

static void *take_kept(Chunks *chunks, unsigned shift)
{
    FreeChunk **list = &chunks->free[shift - CHUNK_SMALLEST_SHIFT];
    pthread_mutex_lock(&chunks->lock);
    FreeChunk *chunk = *list;
    if (chunk) {
        *list = chunk->next;
        chunks->kept -= (size_t)1 << shift;
    }
    pthread_mutex_unlock(&chunks->lock);
    return chunk;
}

void *chunks_take(Chunks *chunks, size_t *size)
{
    if (*size > SIZE_MAX / 4) return NULL;
    unsigned shift = shift_of(*size);
    if (shift > CHUNK_LARGEST_SHIFT) return malloc(*size);
    *size = (size_t)1 << shift;
    void *kept = chunks ? take_kept(chunks, shift) : NULL;
    return kept ? kept : malloc(*size);
}

void chunks_return(Chunks *chunks, void *memory, size_t size)
{
    FreeChunk *chunk = memory;
    unsigned shift = shift_of(size);
    if (chunks && chunk && shift <= CHUNK_LARGEST_SHIFT) {
        pthread_mutex_lock(&chunks->lock);
        if (chunks->kept + size <= MAX_KEPT) {
            FreeChunk **list = &chunks->free[shift - CHUNK_SMALLEST_SHIFT];
            chunk->next = *list;
            *list = chunk;
            chunks->kept += size;
            chunk = NULL;
        }
        pthread_mutex_unlock(&chunks->lock);
    }
    free(chunk);
}
