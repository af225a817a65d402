/* Compressed parts of fat binaries: as nvcc writes them, LZ4 blocks and Zstandard frames. */
#ifndef DEVICE_API_CODE_DECOMPRESS_H
#define DEVICE_API_CODE_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the packed bytes are one LZ4 block of exactly `size` bytes, which go to `out`. */
bool decompress_lz4(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size);

typedef enum ZstdResult { ZSTD_DONE, ZSTD_DAMAGED, ZSTD_NO_LIBRARY } ZstdResult;

/* As decompress_lz4(), of Zstandard frames, by the system's libzstd.so.1. */
ZstdResult decompress_zstd(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size);

#endif
