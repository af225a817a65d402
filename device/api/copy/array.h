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
    size_t row, rows, layers;
    Sparse *tiles;         /* owned; of a sparse array that is not a level */
    const SparseTiles *sparse; /* the tiles that it lies in, of `tiles` or of `whole`; NULL: not sparse */
    CUmipmappedArray whole; /* a reference: the array of levels whose storage this level has; or NULL */
};

/* Bytes of an element with one channel, 0 for a format that is not supported. */
size_t array_format_size(CUarray_format format);
/* A new array without storage and not published yet; the shape is checked. */
CUresult array_new(Context *context, const CUDA_ARRAY3D_DESCRIPTOR *shape, Array **out);
static inline size_t array_bytes(const Array *array) { return array->row * array->rows * array->layers; }
/* The side of a copy of `bytes` bytes at that offset of the storage; false when it does not fit. */
bool array_at(const Array *array, size_t offset, size_t bytes, CopySide *side);

#endif
