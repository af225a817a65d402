/* Memory of a module: taken in pieces from blocks, freed all at once. */
#ifndef DEVICE_PTX_ARENA_H
#define DEVICE_PTX_ARENA_H

#include "ptx/chunks.h"

typedef struct PtxArena {
    struct PtxBlock *blocks; /* newest first */
    char *next, *end;        /* free part of the newest block */
    Chunks *chunks;          /* where blocks come from, or NULL */
} PtxArena;

/* Aligned for any object, with anything in it; NULL when memory is out. */
void *ptx_arena_get(PtxArena *arena, size_t size);
/* The same, zeroed. */
void *ptx_arena_zeros(PtxArena *arena, size_t size);
void ptx_arena_free(PtxArena *arena);

#endif
