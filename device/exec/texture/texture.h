/* Textures and surfaces: elements of one format in linear memory or in the storage of an array, and how a
 * thread reads and writes them, as a GPU's texture units do.
 *
 * Coordinates become fixed-point numbers, weights of the linear filter are fractions of 8 bits, and the
 * rounding at every step is that of the hardware (measured, see tests/c/test_texture.c). */
#ifndef DEVICE_EXEC_TEXTURE_TEXTURE_H
#define DEVICE_EXEC_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/texture/sparse.h"

/* Dimensions as instructions name them; TEXTURE_LINEAR is memory without rows, read by .1d instructions. */
typedef enum TextureShape {
    TEXTURE_1D,
    TEXTURE_2D,
    TEXTURE_3D,
    TEXTURE_A1D,
    TEXTURE_A2D,
    TEXTURE_CUBE,
    TEXTURE_ACUBE,
    TEXTURE_LINEAR,
    TEXTURE_SHAPES
} TextureShape;

/* Insn.mods of texture and surface operations. */
enum {
    TEX_SHAPE = 7, /* TextureShape of the instruction */
    TEX_INTEGERS = 1 << 3, /* coordinates are integers */
    TEX_CLAMP = 1 << 4, /* surfaces: outside is the nearest inside */
    TEX_ZERO = 1 << 5, /* outside reads zero, writes nothing; neither: outside is a fault */
    TEX_COUNT_SHIFT = 6, /* 2 bits: elements of a surface access, as a power of two */
    TEX_ROW_SHIFT = 8, /* 2 bits: rows of these are of 16, 32 or 64 bits */
    TEX_LEVEL = 1 << 10, /* refs[8] is a level of detail, an integer with TEX_INTEGERS */
    TEX_GRAD = 1 << 11 /* refs[8 ...] and refs[12 ...] are gradients along x and y of the screen */
};

/* Insn.imm of sured. */
typedef enum SurfaceReduction {
    SURFACE_ADD,
    SURFACE_MIN,
    SURFACE_MAX,
    SURFACE_AND,
    SURFACE_OR
} SurfaceReduction;
enum {
    SURFACE_BYTES = 15,           /* 4 or 8 */
    SURFACE_SIGNED = 1 << 4,
    SURFACE_OWN_FORMAT = 1 << 5,  /* x in elements, signed or not as the surface is */
    SURFACE_REDUCTION_SHIFT = 8
};

/* The driver API's numbers. */
typedef enum TextureFormat {
    TEXTURE_U8 = 0x01,
    TEXTURE_U16 = 0x02,
    TEXTURE_U32 = 0x03,
    TEXTURE_S8 = 0x08,
    TEXTURE_S16 = 0x09,
    TEXTURE_S32 = 0x0a,
    TEXTURE_HALF = 0x10,
    TEXTURE_FLOAT = 0x20
} TextureFormat;
typedef enum TextureAddress { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER } TextureAddress;

typedef struct Texture Texture;
struct Texture {
    uint64_t storage; /* address of the first element */
    uint64_t bytes; /* of the storage that may be touched */
    uint64_t range; /* MemoryRange.id of the memory: it is still that one */
    uint64_t row, slice; /* bytes from one row, one layer to the next */
    const SparseTiles *sparse; /* of a surface: what of it is mapped, as long as the storage is; or NULL */
    uint32_t size[3]; /* width, height, depth in elements; layers and faces are the depth; at least 1 */
    uint8_t shape; /* TextureShape */
    uint8_t format; /* TextureFormat */
    uint8_t channels, element; /* element: bytes of all channels */
    uint8_t address[3]; /* TextureAddress of each axis */
    bool surface, linear, normalized, integer, srgb;
    float border[4];
    uint8_t levels; /* storage, size, row and slice are those of the first */
    bool between; /* levels are blended */
    int32_t bias, min, max; /* of levels of detail, in 256ths */
};

/* What a texture or surface reference of a module is bound to while a kernel runs. */
typedef struct TextureBinding {
    Texture texture; /* storage 0: nothing, which reads as zeros and is not written */
    const char *problem; /* why it cannot be used, to follow its name in a message; or NULL */
} TextureBinding;

/* Whether an instruction of that shape may use the texture. */
bool texture_accepts(const Texture *texture, TextureShape shape);
const char *texture_shape_name(TextureShape shape);

/* Four words of a sample. The coordinates are those of the instruction, the layer first if there is one:
 * floats, or integers. level: the result of texture_detail; for integer coordinates the number of a level,
 * and outside the levels all texels are 0. */
void texture_sample(const Texture *texture, const uint32_t coordinates[4], bool integers, int32_t level,
                    uint32_t out[4]);
/* tld4: one channel of the four texels that a linear filter would use, counterclockwise from the lower
 * left. */
void texture_gather(const Texture *texture, const uint32_t coordinates[4], unsigned channel, uint32_t out[4]);

/* The address of bytes of a surface at the coordinates (x in bytes, or in elements when scaled; the layer
 * first); 0 when outside. With clamp, coordinates outside become the nearest inside. */
typedef struct SurfacePlace {
    uint64_t address;
    bool outside;
} SurfacePlace;
SurfacePlace surface_place(const Texture *surface, const uint32_t coordinates[4], uint32_t bytes, bool scaled,
                           bool clamp);
/* sust.p: the element for four words, converted as the format says. */
void surface_pack(const Texture *surface, const uint32_t words[4], uint8_t *element);

/* txq and suq; the order is that of texture_query_names. */
typedef enum TextureQuery {
    QUERY_WIDTH,
    QUERY_HEIGHT,
    QUERY_DEPTH,
    QUERY_ARRAY_SIZE,
    QUERY_CHANNEL_DATA_TYPE,
    QUERY_CHANNEL_ORDER,
    QUERY_NORMALIZED_COORDS,
    QUERY_FILTER_MODE,
    QUERY_ADDR_MODE_0,
    QUERY_ADDR_MODE_1,
    QUERY_ADDR_MODE_2,
    QUERY_NUM_MIPMAP_LEVELS,
    QUERY_NUM_SAMPLES
} TextureQuery;
/* What a query returns for a level. Of a level that the texture does not have everything is 0. */
uint32_t texture_query(const Texture *texture, TextureQuery query, uint32_t level);

/* --- levels of detail, mipmap.c --- */

enum { TEXTURE_MAX_LEVELS = 18, LEVEL_ONE = 256 };

/* One level as a texture of its own. */
Texture texture_level(const Texture *texture, unsigned level);
/* Bytes from the start of a level to the start of the next. */
uint64_t texture_level_bytes(uint64_t slice, uint64_t layers);
/* The level of detail of an instruction that names none: the sampler's minimum is read, whatever its bias. */
#define TEXTURE_NO_DETAIL (-32.0f)

/* A number as 256ths, the rest cut off; what is not a number counts as 0. */
int32_t texture_fixed_detail(float detail);
/* As texture_fixed_detail(), for a sampler's bias, which is from -16 to 16. */
int32_t texture_fixed_bias(float bias);
/* The level of detail that is read when an instruction asks for `detail`: with the sampler's bias and limits,
 * in 256ths, within the texture's levels. */
int32_t texture_detail(const Texture *texture, float detail);
/* The level of detail that gradients of the coordinates ask for, gradient.c. */
float texture_gradient_detail(const Texture *texture, const uint32_t coordinates[4], const uint32_t dx[4],
                              const uint32_t dy[4]);

#endif
