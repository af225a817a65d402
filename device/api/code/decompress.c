/* LZ4 blocks are decoded here; Zstandard by the system's library, opened when the first image needs it. */
#include "api/code/decompress.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* --- LZ4: sequences of literals, each but the last followed by a copy of what was written before ------- */

typedef struct Input {
    const uint8_t *at, *end;
} Input;

enum { LENGTH_CONTINUES = 15 }; /* a length of 4 bits with this value is continued by bytes that are added */

/* Adds these bytes to the length: all up to the first that is not 255. False if the input ends before it. */
static bool read_length(Input *in, size_t *length)
{
    uint8_t more = 255;
    if (*length != LENGTH_CONTINUES) return true;
    while (more == 255) {
        if (in->at == in->end) return false;
        more = *in->at++;
        *length += more;
    }
    return true;
}

/* Copies bytes of the input. False if the input or the capacity of `out` is too small. */
static bool take_literals(Input *in, size_t length, uint8_t *out, size_t capacity)
{
    if (length > capacity || length > (size_t)(in->end - in->at)) return false;
    memcpy(out, in->at, length);
    in->at += length;
    return true;
}

/* Copies what was written `distance` bytes before `out`. The two may overlap: then the last `distance` bytes
 * are repeated, so the copy goes byte by byte. False if the values make no sense. */
static bool copy_match(uint8_t *out, size_t written, size_t distance, size_t length, size_t capacity)
{
    if (!distance || distance > written || length > capacity) return false;
    for (size_t i = 0; i < length; i++) out[i] = out[i - distance];
    return true;
}

bool decompress_lz4(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size)
{
    enum { SHORTEST_MATCH = 4 };
    Input in = {packed, packed + packed_size};
    size_t written = 0;
    while (in.at < in.end) {
        uint8_t token = *in.at++;
        size_t literals = token >> 4, match = token & LENGTH_CONTINUES; /* lengths */
        if (!read_length(&in, &literals)) return false;
        if (!take_literals(&in, literals, out + written, size - written)) return false;
        written += literals;
        if (in.at == in.end) break;
        if (in.end - in.at < 2) return false;
        size_t distance = in.at[0] | (size_t)in.at[1] << 8;
        in.at += 2;
        if (!read_length(&in, &match)) return false;
        match += SHORTEST_MATCH;
        if (!copy_match(out + written, written, distance, match, size - written)) return false;
        written += match;
    }
    return written == size;
}

/* --- Zstandard ------------------------------------------------------------------------------------------ */

typedef size_t ZstdDecompress(void *out, size_t size, const void *packed, size_t packed_size);

static ZstdDecompress *zstd_function;

static void find_zstd(void)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL); /* stays open */
    if (library) *(void **)&zstd_function = dlsym(library, "ZSTD_decompress");
}

/* ZSTD_decompress returns the size of the result; its errors are numbers that no buffer has as its size. */
ZstdResult decompress_zstd(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_zstd);
    if (!zstd_function) return ZSTD_NO_LIBRARY;
    return zstd_function(out, size, packed, packed_size) == size ? ZSTD_DONE : ZSTD_DAMAGED;
}
