/* Tensor maps: what the 128 bytes of a CUtensorMap are here, and what kernels do with them.
 *
 * cuTensorMapEncode... makes one (api/texture/tensor_map.c), tensormap.replace changes it, and copies of
 * tensors read it. Sizes are kept one less than they are, as in a GPU's: kernels make maps of zeros, too,
 * and leave fields as they are that must be 1.
 *
 * In mode im2col a tensor is a batch of images, from the innermost dimension: channels, W, (H, (D,)) images.
 * What is copied is that many pixels of a column, a row of that many channels each.
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

/* Bytes that lie together in shared memory when chunks of 16 change their places. */
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
    uint8_t steps[TENSOR_RANK]; /* less 1: from one element of the box that is taken to the next */
    /* im2col: the box that filters begin in, from a corner that is given from the first pixel of an image to
     * one that is given from the last */
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

/* Insn.imm of cp_tensor: the rank, how, the TensorMode, and the reduction. */
enum {
    TENSOR_IMM_RANK = 7,
    TENSOR_STORE = 1 << 3, /* from shared memory; else to it */
    TENSOR_MODE_SHIFT = 4,
    TENSOR_IMM_MODE = 3,
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

uint32_t tensor_type_bytes(unsigned type);
bool tensor_type_is_float(unsigned type);
/* How many numbers a load in this mode has besides its coordinates: offsets, or W's halo and offset. */
unsigned tensor_offset_count(TensorMode mode, unsigned rank);
uint32_t tensor_swizzle_bytes(unsigned swizzle); /* 0: none */

/* Makes it a map whose fields are all zero. */
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
