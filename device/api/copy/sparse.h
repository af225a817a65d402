/* Sparse arrays, plain and mipmapped: the tiles of their storage, and what memory each is mapped to. */
#ifndef DEVICE_API_COPY_SPARSE_H
#define DEVICE_API_COPY_SPARSE_H

#include "api/copy/array.h"
#include "api/memory/physical.h"
#include "exec/texture/texture.h"

/* The memory that a tile is mapped to. */
typedef struct Backing {
    Physical *physical; /* a reference; NULL: the tile is not mapped */
    uint64_t offset;    /* of the tile's bytes in it */
} Backing;

/* The tiles of a plain array, which counts as one level, or of all levels of a mipmapped array. Levels that
 * are smaller than a tile share the tiles of the mip tail. Tiles are numbered level by level, the tail's
 * last. */
struct Sparse {
    CUDA_ARRAY_SPARSE_PROPERTIES properties;
    unsigned count; /* levels */
    unsigned own;   /* levels with tiles of their own: those before the mip tail */
    SparseTiles level[TEXTURE_MAX_LEVELS];
    uint32_t tiles; /* their number */
    uint8_t *mapped;  /* owned: of each tile, 1 if it is mapped. level[k].mapped points into it */
    Backing *backing; /* owned: of each tile */
};

/* An error if a sparse array cannot have that shape and those flags; the log says why. */
CUresult sparse_check(const CUDA_ARRAY3D_DESCRIPTOR *shape);
/* Makes arrays sparse that have storage already: one plain array, or all levels of a mipmapped one. No tile
 * is mapped. The caller calls sparse_free() for *out, after an error as well. */
CUresult sparse_make(Array *const *arrays, unsigned count, Sparse **out);
/* Frees it with its references; NULL: nothing is done. */
void sparse_free(Sparse *sparse);

#endif
