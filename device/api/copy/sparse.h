/* Sparse arrays, plain and mipmapped: the tiles of their storage, and what memory each is mapped to. */
#ifndef DEVICE_API_COPY_SPARSE_H
#define DEVICE_API_COPY_SPARSE_H

#include "api/copy/array.h"
#include "api/memory/physical.h"
#include "exec/texture/texture.h"

typedef struct Backing {
    Physical *physical; /* a reference; NULL: not mapped */
    uint64_t offset;
} Backing;

/* Owned by the array or mipmapped array. */
struct Sparse {
    CUDA_ARRAY_SPARSE_PROPERTIES properties;
    unsigned count, own; /* levels; those before the mip tail, with tiles of their own */
    SparseTiles level[TEXTURE_MAX_LEVELS];
    uint8_t *mapped; /* of all tiles */
    Backing *backing;
    uint32_t tiles;
};

/* Whether a sparse array can have that shape and those flags. */
CUresult sparse_check(const CUDA_ARRAY3D_DESCRIPTOR *shape);
/* Makes arrays sparse that have their storage: one plain array, or all levels of a mipmapped one. *out
 * is to be freed by the caller, after an error as well. */
CUresult sparse_make(Array *const *arrays, unsigned count, Sparse **out);
/* NULL is fine. */
void sparse_free(Sparse *sparse);

#endif
