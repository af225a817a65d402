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
    Sparse *tiles; /* owned; NULL: not sparse */
    /* Handles, which are looked up in the registry: each level has a reference to this array, which therefore
     * has none to the levels. */
    Array *level[TEXTURE_MAX_LEVELS];
} MipmappedArray;

#endif
