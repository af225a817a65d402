/* Texels: elements of any format as numbers, weighted sums of them, and the words that an instruction
 * returns. */
#ifndef DEVICE_EXEC_TEXTURE_TEXEL_H
#define DEVICE_EXEC_TEXTURE_TEXEL_H

#include "exec/texture/texture.h"

/* The channels of a texel as bits of the format, integers widened to 32 bits, halves to floats. */
typedef struct Texel {
    uint32_t channel[4];
} Texel;

Texel texel_read(const Texture *texture, uint64_t address);
/* The border color. */
Texel texel_border(const Texture *texture);
/* Whether the linear filter applies: integers read as such and 32-bit integers are never blended. */
bool texel_filters(const Texture *texture);
/* The four words that an instruction returns for a texel. */
void texel_result(const Texture *texture, Texel texel, uint32_t out[4]);
/* Texels in groups of four, each of one slice of one level, with weights that add up to 256. A texel that
 * is used counts even if its weight is 0: an infinite one makes the sum NaN, and others affect its
 * precision. */
enum { TEXEL_GROUP = 4, TEXEL_GROUPS = 4 };
typedef struct TexelSum {
    Texel texels[TEXEL_GROUP * TEXEL_GROUPS];
    unsigned weights[TEXEL_GROUP * TEXEL_GROUPS];
    unsigned used; /* bit k: texels[k] is used */
    unsigned groups;
} TexelSum;
/* The four words that an instruction returns for a weighted sum. */
void texel_blend(const Texture *texture, const TexelSum *sum, uint32_t out[4]);

#endif
