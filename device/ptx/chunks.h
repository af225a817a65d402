/* Memory for loading modules, which is kept from one load to the next, because getting new pages from the
 * system takes a quarter of a load's time.
 *
 * Sizes of chunks are powers of two. A chunk that a load returns is kept for a later one, up to CHUNKS_KEPT
 * bytes in all. Other chunks, and those larger than 2 to the power CHUNK_LARGEST_SHIFT, are freed at once.
 */
#ifndef DEVICE_PTX_CHUNKS_H
#define DEVICE_PTX_CHUNKS_H

#include <pthread.h>
#include <stddef.h>

enum { CHUNK_SMALLEST_SHIFT = 12, CHUNK_LARGEST_SHIFT = 22 }; /* logarithms of sizes of kept chunks */
enum { CHUNKS_KEPT = 8 << 20 };                               /* bytes that are kept at most */

typedef struct FreeChunk FreeChunk;

/* Shared by all threads. */
typedef struct Chunks {
    pthread_mutex_t lock;
    FreeChunk *free[CHUNK_LARGEST_SHIFT - CHUNK_SMALLEST_SHIFT + 1]; /* lists of kept chunks, by size */
    size_t kept; /* bytes in these lists */
} Chunks;
#define CHUNKS_INITIALIZER {.lock = PTHREAD_MUTEX_INITIALIZER}

/* A chunk of at least *size bytes, aligned for any object, with undefined contents; *size becomes its size.
 * NULL if out of memory. If `chunks` is NULL the memory comes from malloc, here and in chunks_return(). */
void *chunks_take(Chunks *chunks, size_t *size);
/* Returns a chunk, with its size. NULL: nothing is done. */
void chunks_return(Chunks *chunks, void *chunk, size_t size);

#endif
