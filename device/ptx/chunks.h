/* Memory of loads, kept from one to the next: new pages from the system cost a quarter of a
 * load.
 *
 * Chunks have sizes of powers of two. What a load frees is used by the next one, up to a limit; the
 * rest, and very large ones, go back to the system at once.
 */
#ifndef DEVICE_PTX_CHUNKS_H
#define DEVICE_PTX_CHUNKS_H

#include <pthread.h>
#include <stddef.h>

enum { CHUNK_SMALLEST_SHIFT = 12, CHUNK_LARGEST_SHIFT = 22, CHUNKS_KEPT = 8 << 20 };

typedef struct FreeChunk FreeChunk;

/* Shared by all threads. */
typedef struct Chunks {
    pthread_mutex_t lock;
    FreeChunk *free[CHUNK_LARGEST_SHIFT - CHUNK_SMALLEST_SHIFT + 1];
    size_t kept;           /* bytes in these lists */
} Chunks;
#define CHUNKS_INITIALIZER {.lock = PTHREAD_MUTEX_INITIALIZER}

/* At least *size bytes, aligned for any object and with anything in them; *size becomes what there is. NULL
 * when memory is out. Without chunks (NULL) nothing is kept. */
void *chunks_take(Chunks *chunks, size_t *size);
/* Gives back what was taken, with its size; NULL is fine. */
void chunks_return(Chunks *chunks, void *chunk, size_t size);

#endif
