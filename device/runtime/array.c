/* Arrays, mipmapped arrays, and their channels. */
#include "runtime/runtime.h"

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

static const struct {
    CUarray_format format;
    enum cudaChannelFormatKind kind;
    int bits;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

/* 1, 2 or 4 channels of the same bits, with none after one that is missing. */
cudaError_t runtime_element_format(const struct cudaChannelFormatDesc *desc, ElementFormat *out)
{
    if (!desc) return cudaErrorInvalidValue;
    int bits[] = {desc->x, desc->y, desc->z, desc->w};
    unsigned channels = 0;
    while (channels < 4 && bits[channels]) channels++;
    for (unsigned c = 1; c < 4; c++)
        if (bits[c] != (c < channels ? bits[0] : 0)) return cudaErrorInvalidChannelDescriptor;
    if (channels != 1 && channels != 2 && channels != 4) return cudaErrorInvalidChannelDescriptor;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].kind == desc->f && formats[i].bits == bits[0]) {
            *out = (ElementFormat){formats[i].format, channels};
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc runtime_channel_desc(CUarray_format format, unsigned int channels)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].format == format) {
            int bits = formats[i].bits;
            return (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                                  channels > 3 ? bits : 0, formats[i].kind};
        }
    return (struct cudaChannelFormatDesc){0, 0, 0, 0, cudaChannelFormatKindNone};
}

static cudaError_t describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    if (!array) return cudaErrorInvalidResourceHandle;
    return (cudaError_t)cuArray3DGetDescriptor_v2(out, (CUarray)array);
}

cudaError_t runtime_element_size(cudaArray_const_t array, size_t *out)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    *out = 1;
    if (!array) return cudaSuccess;
    TRY(describe(array, &shape));
    struct cudaChannelFormatDesc desc = runtime_channel_desc(shape.Format, shape.NumChannels);
    *out = (size_t)(desc.x + desc.y + desc.z + desc.w) / 8;
    return *out ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

static cudaError_t array_shape(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                               unsigned int flags, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    ElementFormat element;
    TRY(runtime_element_format(desc, &element));
    *out = (CUDA_ARRAY3D_DESCRIPTOR){extent.width,   extent.height,    extent.depth,
                                     element.format, element.channels, flags};
    return cudaSuccess;
}

cudaError_t run_cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                  struct cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (!out) return cudaErrorInvalidValue;
    TRY(array_shape(desc, extent, flags, &shape));
    return (cudaError_t)cuArray3DCreate_v2(out, &shape);
}

cudaError_t run_cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc, size_t width,
                                size_t height, unsigned int flags)
{
    return run_cudaMalloc3DArray(out, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t run_cudaMallocMipmappedArray(cudaMipmappedArray_t *out, const struct cudaChannelFormatDesc *desc,
                                         struct cudaExtent extent, unsigned int levels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (!out) return cudaErrorInvalidValue;
    TRY(array_shape(desc, extent, flags, &shape));
    return (cudaError_t)cuMipmappedArrayCreate(out, &shape, levels);
}

cudaError_t run_cudaFreeArray(cudaArray_t array)
{
    return array ? (cudaError_t)cuArrayDestroy(array) : cudaSuccess;
}

cudaError_t run_cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
    return array ? (cudaError_t)cuMipmappedArrayDestroy(array) : cudaSuccess;
}

cudaError_t run_cudaGetChannelDesc(struct cudaChannelFormatDesc *out, cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (!out) return cudaErrorInvalidValue;
    TRY(describe(array, &shape));
    *out = runtime_channel_desc(shape.Format, shape.NumChannels);
    return cudaSuccess;
}

cudaError_t run_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                 unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    TRY(describe(array, &shape));
    if (desc) *desc = runtime_channel_desc(shape.Format, shape.NumChannels);
    if (extent) *extent = (struct cudaExtent){shape.Width, shape.Height, shape.Depth};
    if (flags) *flags = shape.Flags;
    return cudaSuccess;
}

cudaError_t run_cudaDeviceGetTexture1DLinearMaxWidth(size_t *out, const struct cudaChannelFormatDesc *desc,
                                                     int device)
{
    ElementFormat element;
    TRY(runtime_element_format(desc, &element));
    return (cudaError_t)cuDeviceGetTexture1DLinearMaxWidth(out, element.format, element.channels, device);
}
