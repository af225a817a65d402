/* Tensor maps: descriptions of tensors in global memory, which kernels copy by boxes. Checked here by the
 * driver's manual; what they are is exec/async/tensor_map.h's. */
#include "exec/async/tensor_map.h"

#include <string.h>

#include "api/base/log.h"
#include "api/context/context.h"

_Static_assert(sizeof(TensorMap) == sizeof(CUtensorMap), "a TensorMap is a CUtensorMap");

static CUresult refuse(CUresult error, const char *what)
{
    log_error("tensor map: %s", what);
    return error;
}

/* The type as tensormap.replace numbers it; TENSOR_TYPE_COUNT for none. */
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

/* Only devices of compute capability 9.0 have them. */
static CUresult enter(void)
{
    enum { CAPABILITY = 90 };
    Context *context;
    TRY(context_enter(&context));
    if (driver_settings()->capability < CAPABILITY)
        return refuse(CUDA_ERROR_NOT_SUPPORTED, "needs compute capability 9.0");
    return CUDA_SUCCESS;
}

/* What the manual allows, and this device has not. */
static CUresult check_kinds(unsigned type, unsigned rank, CUtensorMapInterleave interleave,
                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion)
{
    if (type == TENSOR_TYPE_COUNT || interleave > CU_TENSOR_MAP_INTERLEAVE_32B
        || swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return refuse(CUDA_ERROR_INVALID_VALUE, "an invalid type or mode");
    if (!rank || rank > TENSOR_RANK || (interleave && rank < 3))
        return refuse(CUDA_ERROR_INVALID_VALUE, "a tensor has 1 to 5 dimensions, an interleaved one 3 to 5");
    if (!tensor_type_bytes(type))
        return refuse(CUDA_ERROR_NOT_SUPPORTED,
                      "elements that change their bits (FTZ, TFLOAT32) or have 4 or 6 bits are not supported "
                      "by the CPU device");
    if (interleave)
        return refuse(CUDA_ERROR_NOT_SUPPORTED, "interleaved layouts are not supported by the CPU device");
    if (swizzle >= TENSOR_SWIZZLES)
        return refuse(CUDA_ERROR_NOT_SUPPORTED,
                      "swizzled chunks of more than 16 bytes are not supported by the CPU device");
    return CUDA_SUCCESS;
}

static CUresult set(TensorMap *map, TensorField field, unsigned dimension, uint64_t value)
{
    const char *problem = tensor_map_set(map, field, dimension, value);
    return problem ? refuse(CUDA_ERROR_INVALID_VALUE, problem) : CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill)
{
    TensorMap map;
    TRY(enter());
    TRY(check_kinds(type_of(type), rank, interleave, swizzle, promotion));
    if (!out || !dims || !box || !steps || (rank > 1 && !strides))
        return refuse(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    tensor_map_begin(&map);
    map.promotion = (uint8_t)promotion;
    TRY(set(&map, TENSOR_ELEMTYPE, 0, type_of(type)));
    TRY(set(&map, TENSOR_RANK_LESS_1, 0, rank - 1));
    TRY(set(&map, TENSOR_ADDRESS, 0, (uintptr_t)address));
    TRY(set(&map, TENSOR_SWIZZLE, 0, swizzle));
    TRY(set(&map, TENSOR_FILL, 0, fill));
    for (unsigned d = 0; d < rank; d++) {
        TRY(set(&map, TENSOR_GLOBAL_DIM, d, dims[d]));
        TRY(set(&map, TENSOR_BOX_DIM, d, box[d]));
        TRY(set(&map, TENSOR_ELEMENT_STRIDE, d, steps[d]));
        if (d) TRY(set(&map, TENSOR_GLOBAL_STRIDE, d - 1, strides[d - 1]));
    }
    const char *problem = tensor_map_problem(&map);
    if (problem) return refuse(CUDA_ERROR_INVALID_VALUE, problem);
    memcpy(out, &map, sizeof map);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensor_map, void *address)
{
    TensorMap map;
    TRY(enter());
    if (!tensor_map) return refuse(CUDA_ERROR_INVALID_VALUE, "an argument is NULL");
    memcpy(&map, tensor_map, sizeof map);
    if (!tensor_map_is_one(&map)) return refuse(CUDA_ERROR_INVALID_VALUE, "the bytes are not a tensor map");
    TRY(set(&map, TENSOR_ADDRESS, 0, (uintptr_t)address));
    memcpy(tensor_map, &map, sizeof map);
    return CUDA_SUCCESS;
}
