/* Mipmapped arrays: one piece of storage, and an array object for each level in it. */
#ifndef DEVICE_API_COPY_MIPMAP_H
#define DEVICE_API_COPY_MIPMAP_H

#include "api/copy/array.h"
#include "exec/texture/texture.h"

typedef struct CUmipmappedArray_st {
    Object object;
    uint64_t storage; /* address */
    uint64_t bytes;
    unsigned levels;
    Sparse *tiles; /* of a sparse one: its own */
    /* Each has a reference to this; the registry has those to them, so they are looked up there. */
    Array *level[TEXTURE_MAX_LEVELS];
} MipmappedArray;

#endif
