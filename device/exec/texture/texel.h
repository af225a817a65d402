/* Texels: elements of any format as numbers, weighted sums of them, and what a thread gets to see. */
#ifndef DEVICE_EXEC_TEXTURE_TEXEL_H
#define DEVICE_EXEC_TEXTURE_TEXEL_H

#include "exec/texture/texture.h"

/* The channels of a texel as bits of the format, integers widened to 32 bits, halves to floats. */
typedef struct Texel {
    uint32_t channel[4];
} Texel;

Texel texel_read(const Texture *texture, uint64_t address);
Texel texel_border(const Texture *texture);
/* Whether the linear filter applies: integers read as such and 32-bit integers are never blended. */
bool texel_filters(const Texture *texture);
void texel_result(const Texture *texture, Texel texel, uint32_t out[4]);
/* Texels in groups of four, each of one slice of one level, by weights that add up to 256; those that are
 * used count even with a weight of 0, for infinities and for the precision. */
enum { TEXEL_GROUP = 4, TEXEL_GROUPS = 4 };
typedef struct TexelSum {
    Texel texels[TEXEL_GROUP * TEXEL_GROUPS];
    unsigned weights[TEXEL_GROUP * TEXEL_GROUPS];
    unsigned used; /* a bit each */
    unsigned groups;
} TexelSum;
void texel_blend(const Texture *texture, const TexelSum *sum, uint32_t out[4]);

#endif
