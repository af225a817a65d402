/* Sparse arrays: their storage is divided into tiles, and only tiles that are mapped to memory can be
 * written. Others read as zeros: their storage exists all the same. */
#ifndef DEVICE_EXEC_TEXTURE_SPARSE_H
#define DEVICE_EXEC_TEXTURE_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

enum { SPARSE_TILE_BYTES = 64 << 10 };

/* The tiles of an array or of one level. The levels of a mip tail share its tiles: each is a part of a row of
 * bytes, of each layer or of all layers together. */
typedef struct SparseTiles {
    uint64_t storage; /* address of the first element */
    uint64_t row, slice; /* bytes from one row, one layer to the next */
    uint64_t start; /* in a mip tail: of the levels before, in bytes; else 0 */
    uint32_t rows, layers;
    uint32_t tile_row, height, depth; /* of a tile: bytes, rows, layers */
    uint32_t across, down; /* tiles along a row, and rows of tiles in a slice */
    uint8_t *mapped; /* for each tile: not 0 if it is mapped */
} SparseTiles;

/* Whether the byte at that address of the storage is mapped. *bytes becomes the number of bytes from it
 * on that are in the same row and tile. */
static inline bool sparse_is_mapped(const SparseTiles *t, uint64_t address, uint64_t *bytes)
{
    uint64_t offset = address - t->storage, z = offset / t->slice, y = offset % t->slice / t->row;
    uint64_t x = offset % t->row + t->start, in_tile = t->tile_row - x % t->tile_row;
    uint64_t in_row = t->start + t->row - x;
    *bytes = in_tile < in_row ? in_tile : in_row;
    return __atomic_load_n(&t->mapped[(z / t->depth * t->down + y / t->height) * t->across + x / t->tile_row],
                           __ATOMIC_RELAXED);
}

#endif
