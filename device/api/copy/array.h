/* Arrays: rows of elements in linear storage that only copies and textures reach. */
#ifndef DEVICE_API_COPY_ARRAY_H
#define DEVICE_API_COPY_ARRAY_H

#include "api/copy/copy.h"
#include "exec/texture/sparse.h"

typedef struct Sparse Sparse;

struct CUarray_st {
    Object object;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    uint64_t storage;      /* address */
    size_t element_size;   /* bytes, all channels */
    size_t row;            /* bytes of a row */
    size_t rows, layers;   /* rows of a layer; layers: at least 1 each */
    Sparse *tiles;         /* owned; of a sparse array that is not a level of a mipmapped one; else NULL */
    const SparseTiles *sparse; /* the tiles of its storage, in `tiles` or in whole->tiles; NULL: not sparse */
    CUmipmappedArray whole; /* a reference: the mipmapped array that this is a level of; or NULL */
};

/* Bytes of an element with one channel, 0 for a format that is not supported. */
size_t array_format_size(CUarray_format format);
/* Checks the shape. *out is a new array without storage, not published yet. */
CUresult array_new(Context *context, const CUDA_ARRAY3D_DESCRIPTOR *shape, Array **out);
static inline size_t array_bytes(const Array *array) { return array->row * array->rows * array->layers; }
/* Fills in the side of a copy of `bytes` bytes at that offset of the storage; false if they do not fit. */
bool array_at(const Array *array, size_t offset, size_t bytes, CopySide *side);

#endif
