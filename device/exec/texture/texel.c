/* Texels as numbers. Integers that are read as fractions are blended as 16-bit fractions, in integers;
 * floats are summed in double and rounded once, ties away from zero; results of f16 textures are f16. */
#include "exec/texture/texel.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "exec/numbers/half.h"

/* Whether integers of 8 or 16 bits are read as fractions of the format's largest value. */
static bool is_fraction(const Texture *t)
{
    bool small = t->format == TEXTURE_U8 || t->format == TEXTURE_U16 || t->format == TEXTURE_S8
                 || t->format == TEXTURE_S16;
    return small && !t->integer;
}

bool texel_filters(const Texture *t)
{
    return is_fraction(t) || t->format == TEXTURE_FLOAT || t->format == TEXTURE_HALF;
}

static uint32_t channel_read(unsigned format, const uint8_t *p)
{
    uint16_t word = 0;
    uint32_t bits;
    switch (format) {
    case TEXTURE_U8: return *p;
    case TEXTURE_S8: return (uint32_t)(int8_t)*p;
    case TEXTURE_U16: memcpy(&word, p, 2); return word;
    case TEXTURE_S16: memcpy(&word, p, 2); return (uint32_t)(int16_t)word;
    case TEXTURE_HALF: memcpy(&word, p, 2); return f32_bits(f16_to_f32(word));
    default: memcpy(&bits, p, 4); return bits;
    }
}

Texel texel_read(const Texture *t, uint64_t address)
{
    const uint8_t *p = (const uint8_t *)(uintptr_t)address;
    Texel texel = {{0}};
    unsigned bytes = t->element / t->channels;
    for (unsigned k = 0; k < t->channels; k++) texel.channel[k] = channel_read(t->format, p + k * bytes);
    return texel;
}

static bool is_signed(const Texture *t) { return t->format == TEXTURE_S8 || t->format == TEXTURE_S16; }

/* The largest value of the format. */
static int32_t full_scale(unsigned format)
{
    return format == TEXTURE_U8 ? 255 : format == TEXTURE_S8 ? 127 : format == TEXTURE_U16 ? 65535 : 32767;
}

/* A channel of the border color in the texture's format: fractions are rounded to nearest, f16 truncated,
 * of integers the low bits are taken. */
static uint32_t border_channel(const Texture *t, float value)
{
    uint32_t bits = f32_bits(value);
    if (is_fraction(t)) {
        float min = is_signed(t) ? -1 : 0, held = value > 1 ? 1 : value > min ? value : min;
        return (uint32_t)(int32_t)lrint((double)held * full_scale(t->format));
    }
    switch (t->format) {
    case TEXTURE_U8: return bits & 255;
    case TEXTURE_U16: return bits & 65535;
    case TEXTURE_S8: return (uint32_t)(int8_t)bits;
    case TEXTURE_S16: return (uint32_t)(int16_t)bits;
    case TEXTURE_HALF: return f32_bits(f16_to_f32(f32_to_f16_round(value, MODS_RZ)));
    default: return bits;
    }
}

Texel texel_border(const Texture *t)
{
    Texel texel = {{0}};
    for (unsigned k = 0; k < t->channels; k++) texel.channel[k] = border_channel(t, t->border[k]);
    return texel;
}

static float normalized_value(const Texture *t, uint32_t value)
{
    float x = (float)((double)(int32_t)value / full_scale(t->format));
    return x < -1 ? -1 : x;
}

/* The sRGB curve as the hardware has it, as halves; for the colors, not for the fourth channel. */
static const uint16_t linear_light[256] = {
    0x0000, 0x0d00, 0x1100, 0x1380, 0x1500, 0x1640, 0x1780, 0x1860, 0x1900, 0x19a0, 0x1a40, 0x1ae0, 0x1b80,
    0x1c20, 0x1c80, 0x1ce0, 0x1d50, 0x1dc0, 0x1e30, 0x1eb0, 0x1f30, 0x1fb0, 0x2018, 0x2060, 0x20b0, 0x20f8,
    0x2148, 0x21a0, 0x21f0, 0x2248, 0x22a8, 0x2300, 0x2360, 0x23d0, 0x2418, 0x2450, 0x2488, 0x24c0, 0x24f8,
    0x2530, 0x2570, 0x25b0, 0x25f0, 0x2630, 0x2670, 0x26b8, 0x2700, 0x2748, 0x2790, 0x27e0, 0x2818, 0x2840,
    0x2868, 0x2890, 0x28b8, 0x28e0, 0x2910, 0x2940, 0x2968, 0x2998, 0x29c8, 0x29f8, 0x2a28, 0x2a60, 0x2a90,
    0x2ac0, 0x2b00, 0x2b30, 0x2b60, 0x2ba0, 0x2bd0, 0x2c08, 0x2c28, 0x2c40, 0x2c60, 0x2c80, 0x2ca0, 0x2cc0,
    0x2ce0, 0x2d00, 0x2d24, 0x2d48, 0x2d68, 0x2d88, 0x2db0, 0x2dd0, 0x2df8, 0x2e18, 0x2e40, 0x2e68, 0x2e88,
    0x2eb0, 0x2ed8, 0x2f00, 0x2f28, 0x2f50, 0x2f80, 0x2fa0, 0x2fd0, 0x3000, 0x3010, 0x3028, 0x3040, 0x3058,
    0x3070, 0x3088, 0x30a0, 0x30b8, 0x30d0, 0x30e8, 0x3100, 0x3118, 0x3130, 0x3148, 0x3160, 0x3180, 0x3198,
    0x31b0, 0x31d0, 0x31e8, 0x3200, 0x3220, 0x3238, 0x3258, 0x3270, 0x3290, 0x32b0, 0x32c8, 0x32e8, 0x3308,
    0x3328, 0x3340, 0x3360, 0x3380, 0x33a0, 0x33c0, 0x33e0, 0x3400, 0x3410, 0x3420, 0x3430, 0x3440, 0x3450,
    0x3468, 0x3478, 0x3488, 0x3498, 0x34a8, 0x34c0, 0x34d0, 0x34e0, 0x34f0, 0x3508, 0x3518, 0x3528, 0x3540,
    0x3550, 0x3568, 0x3578, 0x3590, 0x35a0, 0x35b0, 0x35c8, 0x35e0, 0x35f0, 0x3608, 0x3618, 0x3630, 0x3640,
    0x3658, 0x3670, 0x3688, 0x3698, 0x36b0, 0x36c8, 0x36d8, 0x36f0, 0x3708, 0x3720, 0x3738, 0x3750, 0x3768,
    0x3780, 0x3790, 0x37b0, 0x37c0, 0x37e0, 0x37f0, 0x3808, 0x3810, 0x3820, 0x3828, 0x3838, 0x3848, 0x3850,
    0x3860, 0x3868, 0x3878, 0x3888, 0x3890, 0x38a0, 0x38b0, 0x38b8, 0x38c8, 0x38d8, 0x38e0, 0x38f0, 0x3900,
    0x3908, 0x3918, 0x3928, 0x3938, 0x3948, 0x3950, 0x3960, 0x3970, 0x3980, 0x3990, 0x3998, 0x39a8, 0x39b8,
    0x39c8, 0x39d8, 0x39e8, 0x39f8, 0x3a08, 0x3a18, 0x3a28, 0x3a38, 0x3a48, 0x3a58, 0x3a68, 0x3a78, 0x3a88,
    0x3a98, 0x3aa8, 0x3ab8, 0x3ac8, 0x3ad8, 0x3ae8, 0x3af8, 0x3b08, 0x3b18, 0x3b28, 0x3b40, 0x3b50, 0x3b60,
    0x3b70, 0x3b80, 0x3b90, 0x3ba0, 0x3bb0, 0x3bd0, 0x3be0, 0x3bf0, 0x3c00,
};

static bool is_curved(const Texture *t, unsigned channel) { return t->srgb && channel < 3; }

void texel_result(const Texture *t, Texel texel, uint32_t out[4])
{
    memset(out, 0, 16);
    for (unsigned k = 0; k < t->channels; k++) {
        out[k] = texel.channel[k];
        if (is_curved(t, k))
            out[k] = f32_bits(f16_to_f32(linear_light[out[k] & 255]));
        else if (is_fraction(t))
            out[k] = f32_bits(normalized_value(t, out[k]));
    }
}

/* Rounds to the nearest number of `bits` bits, ties away from zero. min: the smallest exponent (as of
 * frexp) of a normal number; smaller numbers have fewer bits. */
static double round_away(double x, int bits, int min)
{
    int exponent;
    if (x == 0 || x - x != 0) return x;
    frexp(x, &exponent);
    exponent = exponent < min ? min : exponent;
    return ldexp(round(ldexp(x, bits - exponent)), exponent - bits);
}

enum { NOTHING = INT_MIN / 2 }; /* less than every exponent */

/* The exponent of the largest of four texels with a weight; NOTHING when all are 0 or none has one. */
static int common_exponent(const Texel *texels, const unsigned *weights, unsigned channel)
{
    int max = NOTHING, exponent;
    for (unsigned k = 0; k < 4; k++) {
        float x = f32_from(texels[k].channel[channel]);
        if (!weights[k] || x == 0 || x - x != 0) continue;
        frexpf(x, &exponent);
        max = exponent > max ? exponent : max;
    }
    return max;
}

/* The weighted sum of four texels of a slice, and the exponent of the largest. */
typedef struct SliceSum {
    double value;
    int exponent;
} SliceSum;

/* The texels are first aligned to their common exponent and truncated to that many bits. */
static SliceSum slice_sum(const Texel *texels, const unsigned *weights, unsigned used, unsigned channel,
                          int bits)
{
    SliceSum sum = {0, common_exponent(texels, weights, channel)};
    int unit = sum.exponent - bits;
    for (unsigned k = 0; k < 4; k++) {
        double x = f32_from(texels[k].channel[channel]);
        if (!(used >> k & 1)) continue;
        if (x - x != 0)
            sum.value += x;
        else if (x != 0 && weights[k])
            sum.value += ldexp(trunc(ldexp(x, -unit)), unit) * weights[k];
    }
    return sum;
}

/* The sum of all slices, whose sums are aligned to the largest exponent, rounded up to a multiple of
 * four, and rounded down. A single slice that is not 0 is not rounded. */
static double slices_together(const SliceSum *slices, unsigned count, int bits)
{
    int max = NOTHING;
    unsigned filled = 0;
    double sum = 0;
    for (unsigned k = 0; k < count; k++) {
        max = slices[k].exponent > max ? slices[k].exponent : max;
        filled += slices[k].exponent != NOTHING;
    }
    int unit = ((max + 2) & ~3) - bits - 2;
    for (unsigned k = 0; k < count; k++)
        sum += filled > 1 ? ldexp(floor(ldexp(slices[k].value, -unit)), unit) : slices[k].value;
    return sum;
}

static float blend_floats(const Texture *t, const TexelSum *s, unsigned channel)
{
    bool half = t->format != TEXTURE_FLOAT;
    int bits = half ? 15 : 28;
    SliceSum slices[TEXEL_GROUPS];
    for (unsigned g = 0, at = 0; g < s->groups; g++, at += TEXEL_GROUP)
        slices[g] = slice_sum(s->texels + at, s->weights + at, s->used >> at, channel, bits);
    double sum = slices_together(slices, s->groups, bits);
    if (sum != sum) return f32_from(F32_NAN);
    /* The bits, and the smallest exponents of normal numbers, of f16 and f32. */
    return (float)round_away(sum / 256, half ? 11 : 24, half ? -13 : -125);
}

/* A sum of signed bytes as a 16-bit fraction: times 32767 / 32512, the low bits of the product left out. */
static int64_t widened(int64_t sum) { return sum + (((sum >> 4) * 257 + 1024) >> 11); }

/* The sum is rounded to 16 bits, whatever the format, ties up. The smallest integers count for a bit less
 * than -1 in it; only the sum is clamped there. */
static float blend_fractions(const Texture *t, const TexelSum *s, unsigned channel)
{
    int64_t sum = 0, full = full_scale(t->format), scale = is_signed(t) ? 32767 : 65535;
    for (unsigned k = 0; k < s->groups * TEXEL_GROUP; k++)
        sum += (int64_t)(int32_t)s->texels[k].channel[channel] * s->weights[k];
    if (is_signed(t) && sum < -full * 256) sum = -full * 256;
    double wide = t->format == TEXTURE_S8 ? (double)widened(sum)
                                          : floor((double)(sum * scale) / (double)(full * 256) + 0.5);
    return (float)(wide / (double)scale);
}

void texel_blend(const Texture *t, const TexelSum *sum, uint32_t out[4])
{
    TexelSum curved;
    memset(out, 0, 16);
    if (t->srgb) {
        curved = *sum;
        for (unsigned k = 0; k < sum->groups * TEXEL_GROUP; k++)
            texel_result(t, sum->texels[k], curved.texels[k].channel);
    }
    for (unsigned k = 0; k < t->channels; k++)
        out[k] = f32_bits(is_curved(t, k)  ? blend_floats(t, &curved, k)
                          : is_fraction(t) ? blend_fractions(t, sum, k)
                                           : blend_floats(t, sum, k));
}

/* --- sust.p ------------------------------------------------------------------------------------------- */

static int64_t clamped(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

static uint32_t channel_write(unsigned format, uint32_t word)
{
    switch (format) {
    case TEXTURE_U8: return (uint32_t)clamped(word, 0, 255);
    case TEXTURE_U16: return (uint32_t)clamped(word, 0, 65535);
    case TEXTURE_S8: return (uint32_t)clamped((int32_t)word, -128, 127);
    case TEXTURE_S16: return (uint32_t)clamped((int32_t)word, -32768, 32767);
    case TEXTURE_HALF: return f32_to_f16_round(f32_from(word), MODS_RZ);
    default: return word;
    }
}

void surface_pack(const Texture *s, const uint32_t words[4], uint8_t *element)
{
    unsigned bytes = s->element / s->channels;
    for (unsigned k = 0; k < s->channels; k++) {
        uint32_t value = channel_write(s->format, words[k]);
        memcpy(element + k * bytes, &value, bytes);
    }
}
