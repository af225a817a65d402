/* Tensor maps: the layout of the 128 bytes of a CUtensorMap on this device, and what kernels do with them.
 *
 * cuTensorMapEncode... makes one (api/texture/tensor_map.c), tensormap.replace changes it, and tensor copies
 * read it. Sizes are stored less 1, as in a GPU's maps: kernels may also begin with 128 zeros and set only
 * the fields that differ, and then fields of zero must mean 1.
 *
 * In mode im2col a tensor is a batch of images. Its dimensions are, from the innermost one, channels, W, (H,
 * (D,)) images. A copy takes a column of pixels; of each pixel it takes a row of channels.
 */
#ifndef DEVICE_EXEC_ASYNC_TENSOR_MAP_H
#define DEVICE_EXEC_ASYNC_TENSOR_MAP_H

#include "exec/state/warp.h"

enum {
    TENSOR_RANK = 5,
    TENSOR_SPACE = TENSOR_RANK - 2, /* dimensions of an image: W, H, D */
    TENSOR_MIN_IMAGE_RANK = 3,    /* channels, W, images */
    TENSOR_MAX_BOX = 256,
    TENSOR_MAX_PIXELS = 1024,
    TENSOR_MAX_STEP = 8,
    TENSOR_MAP_ALIGN = 64
};
#define TENSOR_MAX_DIM (UINT64_C(1) << 32)
#define TENSOR_STRIDE_END (UINT64_C(1) << 40)

/* The elements, by the numbers of tensormap.replace: TENSOR_TYPE(name, the name of CUtensorMapDataType, bytes
 * of an element; 0: not supported here, whether it is a float). */
#define TENSOR_TYPES(TENSOR_TYPE) \
    TENSOR_TYPE(U8, UINT8, 1, false) \
    TENSOR_TYPE(U16, UINT16, 2, false) \
    TENSOR_TYPE(U32, UINT32, 4, false) \
    TENSOR_TYPE(S32, INT32, 4, false) \
    TENSOR_TYPE(U64, UINT64, 8, false) \
    TENSOR_TYPE(S64, INT64, 8, false) \
    TENSOR_TYPE(F16, FLOAT16, 2, true) \
    TENSOR_TYPE(F32, FLOAT32, 4, true) \
    TENSOR_TYPE(F32_FTZ, FLOAT32_FTZ, 0, true) \
    TENSOR_TYPE(F64, FLOAT64, 8, true) \
    TENSOR_TYPE(BF16, BFLOAT16, 2, true) \
    TENSOR_TYPE(TF32, TFLOAT32, 0, true) \
    TENSOR_TYPE(TF32_FTZ, TFLOAT32_FTZ, 0, true) \
    TENSOR_TYPE(B4X16, 16U4_ALIGN8B, 0, false) \
    TENSOR_TYPE(B4X16_P64, 16U4_ALIGN16B, 0, false) \
    TENSOR_TYPE(B6X16_P32, 16U6_ALIGN16B, 0, false)

typedef enum TensorType {
#define TENSOR_TYPE(name, driver, bytes, is_float) TENSOR_##name,
    TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
        TENSOR_TYPE_COUNT
} TensorType;

/* Within how many bytes of shared memory chunks of 16 bytes change their places. */
typedef enum TensorSwizzle {
    TENSOR_SWIZZLE_NONE,
    TENSOR_SWIZZLE_32,
    TENSOR_SWIZZLE_64,
    TENSOR_SWIZZLE_128,
    TENSOR_SWIZZLES
} TensorSwizzle;

/* How copies go through a tensor. */
typedef enum TensorMode { TENSOR_TILED, TENSOR_IM2COL, TENSOR_IM2COL_W, TENSOR_IM2COL_W128 } TensorMode;

typedef struct TensorMap {
    uint64_t address;
    uint64_t strides[TENSOR_RANK - 1]; /* bytes from one element to the next, of dimensions 1 to 4 */
    uint32_t dims[TENSOR_RANK]; /* less 1, the innermost first */
    uint8_t box[TENSOR_RANK]; /* less 1 */
    uint8_t steps[TENSOR_RANK]; /* less 1: every so many-th element of the box is taken */
    /* im2col: the box in which filters begin: its first corner relative to the first pixel of an image,
     * its last corner relative to the last pixel */
    int16_t lower[TENSOR_SPACE], upper[TENSOR_SPACE];
    uint16_t pixels; /* im2col: less 1 */
    uint8_t rank; /* less 1 */
    uint8_t mode, type, interleave, swizzle, fill, promotion;
    uint8_t unused[29];
    char signature[8]; /* distinguishes a map from other bytes */
} TensorMap;
_Static_assert(sizeof(TensorMap) == 128, "as large as a CUtensorMap");

/* What tensormap.replace changes. */
typedef enum TensorField {
    TENSOR_ADDRESS,
    TENSOR_RANK_LESS_1,
    TENSOR_BOX_DIM,
    TENSOR_GLOBAL_DIM,
    TENSOR_GLOBAL_STRIDE,
    TENSOR_ELEMENT_STRIDE,
    TENSOR_ELEMTYPE,
    TENSOR_INTERLEAVE,
    TENSOR_SWIZZLE,
    TENSOR_ATOMICITY,
    TENSOR_FILL
} TensorField;

/* Insn.imm of cp_tensor, from the lowest bit: the rank, the direction, the TensorMode, the
 * TensorReduction. */
enum {
    TENSOR_IMM_RANK = 7, /* a mask */
    TENSOR_STORE = 1 << 3, /* from shared memory; else to it */
    TENSOR_MODE_SHIFT = 4,
    TENSOR_IMM_MODE = 3, /* a mask, after the shift */
    TENSOR_REDUCE_SHIFT = 8
};
typedef enum TensorReduction {
    TENSOR_COPIED,
    TENSOR_ADD,
    TENSOR_MIN,
    TENSOR_MAX,
    TENSOR_INC,
    TENSOR_DEC,
    TENSOR_AND,
    TENSOR_OR,
    TENSOR_XOR
} TensorReduction;

/* The bytes of an element; 0 for types that are not supported or do not exist. */
uint32_t tensor_type_bytes(unsigned type);
bool tensor_type_is_float(unsigned type);
/* How many numbers a load in this mode has after its coordinates: offsets of pixels, or in the modes W
 * and W128 a halo and an offset. */
unsigned tensor_offset_count(TensorMode mode, unsigned rank);
uint32_t tensor_swizzle_bytes(unsigned swizzle); /* 0: none */

/* Makes *map a map whose fields are all zero. */
void tensor_map_begin(TensorMap *map);
/* Whether the bytes are a map, by their signature. */
bool tensor_map_is_one(const TensorMap *map);
/* Changes a field. Returns NULL, or why the value is not possible. */
const char *tensor_map_set(TensorMap *map, TensorField field, unsigned dimension, uint64_t value);
/* Changes a map that has its rank and dimensions to that im2col mode. Returns NULL, or why that is not
 * possible. */
const char *tensor_map_set_im2col(TensorMap *map, TensorMode mode, const int *lower, const int *upper,
                                  uint32_t channels, uint32_t pixels);
/* What is wrong with the fields of a map taken together; NULL when tensors can be copied by it. */
const char *tensor_map_problem(const TensorMap *map);

/* tensormap.replace, tensormap.cp_fenceproxy, cp(.reduce).async.bulk.tensor */
const Insn *tensor_map_replace(Warp *warp, const Insn *insn);
const Insn *tensor_map_copy(Warp *warp, const Insn *insn);
const Insn *tensor_copy(Warp *warp, const Insn *insn);

#endif
