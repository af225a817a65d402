/* Memory of a module: taken in pieces from blocks, freed all at once. */
#ifndef DEVICE_PTX_ARENA_H
#define DEVICE_PTX_ARENA_H

#include <stddef.h>

typedef struct PtxArena {
    struct PtxBlock *blocks; /* newest first */
    char *next, *end;        /* free part of the newest block */
} PtxArena;

/* Zeroed, aligned for any object; NULL when memory is out. */
void *ptx_arena_get(PtxArena *arena, size_t size);
void ptx_arena_free(PtxArena *arena);

#endif
