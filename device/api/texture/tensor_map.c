/* Tensor maps: descriptions of tensors in global memory, which kernels copy by boxes. The arguments are
 * checked here, by the driver API's manual; the contents of a map are defined in exec/async/tensor_map.h. */
#include "exec/async/tensor_map.h"

#include <string.h>

#include "api/base/log.h"
#include "api/context/context.h"

_Static_assert(sizeof(TensorMap) == sizeof(CUtensorMap), "a TensorMap is a CUtensorMap");

enum { TILED_CAPABILITY = 90, WIDE_CAPABILITY = 100 }; /* the lowest that have these maps */

static CUresult log_map_error(CUresult error, const char *what)
{
    log_error("tensor map: %s", what);
    return error;
}

/* The type's number in tensormap.replace; TENSOR_TYPE_COUNT for an unknown type. */
static unsigned type_of(CUtensorMapDataType type)
{
    switch (type) {
#define TENSOR_TYPE(name, driver, bytes, is_float) \
    case CU_TENSOR_MAP_DATA_TYPE_##driver: return TENSOR_##name;
        TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
    default: return TENSOR_TYPE_COUNT;
    }
}

/* An error for devices below the compute capability. */
static CUresult check_capability(int capability)
{
    Context *context;
    TRY(context_enter(&context));
    if (driver_settings()->capability < capability)
        return log_map_error(CUDA_ERROR_NOT_SUPPORTED, "the compute capability is too low");
    return CUDA_SUCCESS;
}

/* The arguments that all kinds of maps have. dims, steps: rank elements each; strides: rank - 1, in bytes. */
typedef struct Tensor {
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    const cuuint64_t *dims, *strides;
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
} Tensor;

/* Checks type, modes and rank. Also refuses what the manual allows and this device does not support. */
static CUresult check_kinds(const Tensor *t, bool image)
{
    unsigned type = type_of(t->type), min = image || t->interleave ? TENSOR_MIN_IMAGE_RANK : 1;
    if (type == TENSOR_TYPE_COUNT || t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B
        || t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
        || t->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "an invalid type or mode");
    if (t->rank < min || t->rank > TENSOR_RANK)
        return log_map_error(CUDA_ERROR_INVALID_VALUE,
                             "a tensor has 1 to 5 dimensions; an interleaved one, and images, 3 to 5");
    if (!tensor_type_bytes(type))
        return log_map_error(
            CUDA_ERROR_NOT_SUPPORTED,
            "elements that change their bits (FTZ, TFLOAT32) or have 4 or 6 bits are not supported "
            "by the CPU device");
    if (t->interleave)
        return log_map_error(CUDA_ERROR_NOT_SUPPORTED,
                             "interleaved layouts are not supported by the CPU device");
    if (t->swizzle >= TENSOR_SWIZZLES)
        return log_map_error(CUDA_ERROR_NOT_SUPPORTED,
                             "swizzled chunks of more than 16 bytes are not supported by the CPU device");
    return CUDA_SUCCESS;
}

static CUresult set_field(TensorMap *map, TensorField field, unsigned dimension, uint64_t value)
{
    const char *problem = tensor_map_set(map, field, dimension, value);
    return problem ? log_map_error(CUDA_ERROR_INVALID_VALUE, problem) : CUDA_SUCCESS;
}

/* Fills in the map, except for the box. */
static CUresult encode_tensor(TensorMap *map, const Tensor *t)
{
    if (!t->dims || !t->steps || (t->rank > 1 && !t->strides))
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    tensor_map_begin(map);
    map->promotion = (uint8_t)t->promotion;
    TRY(set_field(map, TENSOR_ELEMTYPE, 0, type_of(t->type)));
    TRY(set_field(map, TENSOR_RANK_LESS_1, 0, t->rank - 1));
    TRY(set_field(map, TENSOR_ADDRESS, 0, (uintptr_t)t->address));
    TRY(set_field(map, TENSOR_SWIZZLE, 0, t->swizzle));
    TRY(set_field(map, TENSOR_FILL, 0, t->fill));
    for (unsigned d = 0; d < t->rank; d++) {
        TRY(set_field(map, TENSOR_GLOBAL_DIM, d, t->dims[d]));
        TRY(set_field(map, TENSOR_ELEMENT_STRIDE, d, t->steps[d]));
        if (d) TRY(set_field(map, TENSOR_GLOBAL_STRIDE, d - 1, t->strides[d - 1]));
    }
    return CUDA_SUCCESS;
}

/* Checks the complete map and copies it to `out`, which must be aligned to that many bytes. */
static CUresult store_map(CUtensorMap *out, const TensorMap *map, unsigned alignment)
{
    const char *problem = tensor_map_problem(map);
    uintptr_t address = (uintptr_t)out;
    if (problem) return log_map_error(CUDA_ERROR_INVALID_VALUE, problem);
    if (!address || address % alignment)
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "the address of a map must be a multiple of 64 bytes");
    memcpy((void *)address, map, sizeof *map);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    const Tensor t = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill};
    TensorMap map;
    TRY(check_capability(TILED_CAPABILITY));
    TRY(check_kinds(&t, false));
    TRY(encode_tensor(&map, &t));
    if (!box) return log_map_error(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    for (unsigned d = 0; d < rank; d++) TRY(set_field(&map, TENSOR_BOX_DIM, d, box[d]));
    return store_map(out, &map, TENSOR_MAP_ALIGN);
}

static CUresult encode_images(CUtensorMap *out, const Tensor *t, TensorMode mode, const int *lower,
                              const int *upper, uint32_t channels, uint32_t pixels)
{
    TensorMap map;
    TRY(check_kinds(t, true));
    TRY(encode_tensor(&map, t));
    if (!lower || !upper) return log_map_error(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    const char *problem = tensor_map_set_im2col(&map, mode, lower, upper, channels, pixels);
    if (problem) return log_map_error(CUDA_ERROR_INVALID_VALUE, problem);
    /* An H100's driver (580.159) writes maps of this mode to any address. */
    return store_map(out, &map, mode == TENSOR_IM2COL ? 1 : TENSOR_MAP_ALIGN);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,
                                 const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill)
{
    const Tensor t = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill};
    TRY(check_capability(TILED_CAPABILITY));
    return encode_images(out, &t, TENSOR_IM2COL, lower, upper, channels, pixels);
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank,
                                     void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                                     int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    const Tensor t = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill};
    TRY(check_capability(WIDE_CAPABILITY));
    if (mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "an invalid mode");
    if (swizzle != CU_TENSOR_MAP_SWIZZLE_64B && swizzle != CU_TENSOR_MAP_SWIZZLE_128B
        && swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "a swizzle mode that these modes do not have");
    return encode_images(out, &t, mode ? TENSOR_IM2COL_W128 : TENSOR_IM2COL_W, &lower, &upper, channels,
                         pixels);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensor_map, void *address)
{
    TensorMap map;
    TRY(check_capability(TILED_CAPABILITY));
    if (!tensor_map) return log_map_error(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    memcpy(&map, tensor_map, sizeof map);
    if (!tensor_map_is_one(&map))
        return log_map_error(CUDA_ERROR_INVALID_VALUE, "the bytes are not a tensor map");
    TRY(set_field(&map, TENSOR_ADDRESS, 0, (uintptr_t)address));
    memcpy(tensor_map, &map, sizeof map);
    return CUDA_SUCCESS;
}
