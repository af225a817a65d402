/* Fat binaries: a header, then entries, each a header and a payload. NVIDIA does not document them. */
#ifndef ABI_FAT_BINARY_H
#define ABI_FAT_BINARY_H

#include <stdint.h>

enum { FAT_MAGIC = 0xba55ed50u, FAT_WRAPPER_MAGIC = 0x466243b1u };

/* What nvcc puts around a fat binary in a host program. */
typedef struct FatWrapper {
    uint32_t magic, version;
    const void *data;
    const void *file_name; /* of version 2: the fat binaries that were linked to `data`, ended by NULL */
} FatWrapper;

typedef struct FatHeader {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of the entries */
} FatHeader;

enum { FAT_PTX = 1 };

typedef struct FatEntry {
    uint16_t kind, version; /* kind: FAT_PTX, or 2 for machine code */
    uint32_t header_size;
    uint64_t size; /* of the payload */
    uint32_t compressed_size, options_offset;
    uint16_t minor, major;
    uint32_t architecture;
} FatEntry;

/* What follows it in headers that are large enough; flags name how a payload is compressed. */
typedef struct FatPacking {
    uint32_t name_offset, name_length;
    uint64_t flags, reserved, original_size;
} FatPacking;

enum { FAT_LZ4 = 0x2000, FAT_ZSTD = 0x8000 };

#endif
