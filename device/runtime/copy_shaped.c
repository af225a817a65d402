/* Copies of two and three dimensions, and those to, from and between arrays. */
#include "runtime/runtime.h"

/* The kinds of memory that a direction of copy is between. */
static cudaError_t memory_types(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to)
{
    static const CUmemorytype types[][2] = {
        [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
        [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
        [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
    };
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    *from = types[kind][0];
    *to = types[kind][1];
    return cudaSuccess;
}

static cudaError_t copy_2d(const CUDA_MEMCPY2D *copy)
{
    if (!copy->WidthInBytes || !copy->Height) return cudaSuccess;
    return (cudaError_t)PTDS_OF(cuMemcpy2DUnaligned_v2)(copy);
}

static cudaError_t copy_2d_async(const CUDA_MEMCPY2D *copy, cudaStream_t stream)
{
    if (!copy->WidthInBytes || !copy->Height) return cudaSuccess;
    return (cudaError_t)PTSZ_OF(cuMemcpy2DAsync_v2)(copy, stream);
}

/* The address goes where the driver looks for it, by its kind of memory. */
static void set_source(CUDA_MEMCPY2D *copy, CUmemorytype type, const void *from, size_t pitch)
{
    copy->srcMemoryType = type;
    copy->srcPitch = pitch;
    if (type == CU_MEMORYTYPE_HOST)
        copy->srcHost = from;
    else
        copy->srcDevice = ADDRESS(from);
}

static void set_target(CUDA_MEMCPY2D *copy, CUmemorytype type, void *to, size_t pitch)
{
    copy->dstMemoryType = type;
    copy->dstPitch = pitch;
    if (type == CU_MEMORYTYPE_HOST)
        copy->dstHost = to;
    else
        copy->dstDevice = ADDRESS(to);
}

static void set_source_array(CUDA_MEMCPY2D *copy, cudaArray_const_t from, size_t x, size_t y)
{
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = (CUarray)from;
    copy->srcXInBytes = x;
    copy->srcY = y;
}

static void set_target_array(CUDA_MEMCPY2D *copy, cudaArray_t to, size_t x, size_t y)
{
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = to;
    copy->dstXInBytes = x;
    copy->dstY = y;
}

/* Whether the rows that are copied are at most a pitch long. */
static bool fits(const CUDA_MEMCPY2D *copy, size_t pitch)
{
    return !copy->Height || copy->WidthInBytes <= pitch;
}

static cudaError_t plain_2d(CUDA_MEMCPY2D *copy, void *to, size_t to_pitch, const void *from,
                            size_t from_pitch, enum cudaMemcpyKind kind)
{
    CUmemorytype from_type, to_type;
    TRY(memory_types(kind, &from_type, &to_type));
    if (!fits(copy, to_pitch) || !fits(copy, from_pitch)) return cudaErrorInvalidPitchValue;
    set_source(copy, from_type, from, from_pitch);
    set_target(copy, to_type, to, to_pitch);
    return cudaSuccess;
}

cudaError_t run_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(plain_2d(&copy, to, to_pitch, from, from_pitch, kind));
    return copy_2d(&copy);
}

cudaError_t run_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(plain_2d(&copy, to, to_pitch, from, from_pitch, kind));
    return copy_2d_async(&copy, stream);
}

static cudaError_t to_array(CUDA_MEMCPY2D *copy, cudaArray_t to, size_t x, size_t y, const void *from,
                            size_t pitch, enum cudaMemcpyKind kind)
{
    CUmemorytype from_type, to_type;
    TRY(memory_types(kind, &from_type, &to_type));
    if (to_type == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    if (!to) return cudaErrorInvalidResourceHandle;
    if (!fits(copy, pitch)) return cudaErrorInvalidPitchValue;
    set_source(copy, from_type, from, pitch);
    set_target_array(copy, to, x, y);
    return cudaSuccess;
}

static cudaError_t from_array(CUDA_MEMCPY2D *copy, void *to, size_t pitch, cudaArray_const_t from, size_t x,
                              size_t y, enum cudaMemcpyKind kind)
{
    CUmemorytype from_type, to_type;
    TRY(memory_types(kind, &from_type, &to_type));
    if (from_type == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    if (!from) return cudaErrorInvalidResourceHandle;
    if (!fits(copy, pitch)) return cudaErrorInvalidPitchValue;
    set_source_array(copy, from, x, y);
    set_target(copy, to_type, to, pitch);
    return cudaSuccess;
}

cudaError_t run_cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                    size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(to_array(&copy, to, x, y, from, pitch, kind));
    return copy_2d(&copy);
}

cudaError_t run_cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                         size_t width, size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(to_array(&copy, to, x, y, from, pitch, kind));
    return copy_2d_async(&copy, stream);
}

cudaError_t run_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                      size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(from_array(&copy, to, pitch, from, x, y, kind));
    return copy_2d(&copy);
}

cudaError_t run_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                           size_t width, size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    TRY(from_array(&copy, to, pitch, from, x, y, kind));
    return copy_2d_async(&copy, stream);
}

cudaError_t run_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t width, size_t height,
                                         enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = width, .Height = height};
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    set_source_array(&copy, from, from_x, from_y);
    set_target_array(&copy, to, to_x, to_y);
    return copy_2d(&copy);
}

/* A line of bytes in an array goes on at the beginning of the next row. */
typedef struct ArrayLine {
    size_t row; /* bytes in a row */
    size_t x, y;
} ArrayLine;

static cudaError_t line_begin(cudaArray_const_t array, size_t x, size_t y, ArrayLine *out)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    size_t element;
    TRY(runtime_element_size(array, &element));
    TRY(cuArray3DGetDescriptor_v2(&shape, (CUarray)array));
    *out = (ArrayLine){shape.Width * element, x, y};
    return x < out->row ? cudaSuccess : cudaErrorInvalidValue;
}

static size_t line_piece(const ArrayLine *line, size_t count)
{
    size_t rest = line->row - line->x;
    return count < rest ? count : rest;
}

static void line_advance(ArrayLine *line, size_t bytes)
{
    line->x += bytes;
    if (line->x < line->row) return;
    line->x = 0;
    line->y++;
}

cudaError_t run_cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    ArrayLine line;
    TRY(line_begin(to, x, y, &line));
    const char *at = from;
    for (size_t left = count, bytes; left; left -= bytes, at += bytes) {
        bytes = line_piece(&line, left);
        TRY(run_cudaMemcpy2DToArrayAsync(to, line.x, line.y, at, bytes, bytes, 1, kind, stream));
        line_advance(&line, bytes);
    }
    return cudaSuccess;
}

cudaError_t run_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                         enum cudaMemcpyKind kind, cudaStream_t stream)
{
    ArrayLine line;
    TRY(line_begin(from, x, y, &line));
    char *at = to;
    for (size_t left = count, bytes; left; left -= bytes, at += bytes) {
        bytes = line_piece(&line, left);
        TRY(run_cudaMemcpy2DFromArrayAsync(at, bytes, from, line.x, line.y, bytes, 1, kind, stream));
        line_advance(&line, bytes);
    }
    return cudaSuccess;
}

cudaError_t run_cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                  enum cudaMemcpyKind kind)
{
    TRY(run_cudaMemcpyToArrayAsync(to, x, y, from, count, kind, NULL));
    return (cudaError_t)PTSZ_OF(cuStreamSynchronize)(NULL);
}

cudaError_t run_cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                    enum cudaMemcpyKind kind)
{
    TRY(run_cudaMemcpyFromArrayAsync(to, from, x, y, count, kind, NULL));
    return (cudaError_t)PTSZ_OF(cuStreamSynchronize)(NULL);
}

cudaError_t run_cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                       size_t from_x, size_t from_y, size_t count, enum cudaMemcpyKind kind)
{
    ArrayLine target, source;
    TRY(line_begin(to, to_x, to_y, &target));
    TRY(line_begin(from, from_x, from_y, &source));
    for (size_t left = count, bytes; left; left -= bytes) {
        bytes = line_piece(&target, line_piece(&source, left));
        TRY(run_cudaMemcpy2DArrayToArray(to, target.x, target.y, from, source.x, source.y, bytes, 1, kind));
        line_advance(&target, bytes);
        line_advance(&source, bytes);
    }
    return cudaSuccess;
}

/* One side of a copy of three dimensions, as the driver has it. */
typedef struct Side {
    size_t x;
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch, height;
} Side;

/* Positions in an array count its elements, in other memory bytes. */
static cudaError_t side_3d(cudaArray_const_t array, const struct cudaPitchedPtr *pointer,
                           struct cudaPos position, CUmemorytype type, Side *out)
{
    size_t element;
    if (!array == !pointer->ptr) return cudaErrorInvalidValue;
    TRY(runtime_element_size(array, &element));
    *out = (Side){
        .x = position.x * element, .type = array ? CU_MEMORYTYPE_ARRAY : type, .array = (CUarray)array};
    if (array) return cudaSuccess;
    if (type == CU_MEMORYTYPE_HOST)
        out->host = pointer->ptr;
    else
        out->device = ADDRESS(pointer->ptr);
    out->pitch = pointer->pitch;
    out->height = pointer->ysize;
    return cudaSuccess;
}

/* The elements that the width of the copied area counts: of an array, if there is one, else bytes. */
static cudaError_t copied_element(cudaArray_const_t from, cudaArray_const_t to, size_t *out)
{
    size_t other;
    TRY(runtime_element_size(from ? from : to, out));
    TRY(runtime_element_size(to ? to : from, &other));
    return *out == other ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t runtime_copy_3d(const struct cudaMemcpy3DParms *copy, CUDA_MEMCPY3D *out)
{
    CUmemorytype from_type, to_type;
    Side from, to;
    size_t element;
    if (!copy) return cudaErrorInvalidValue;
    TRY(memory_types(copy->kind, &from_type, &to_type));
    TRY(side_3d(copy->srcArray, &copy->srcPtr, copy->srcPos, from_type, &from));
    TRY(side_3d(copy->dstArray, &copy->dstPtr, copy->dstPos, to_type, &to));
    TRY(copied_element(copy->srcArray, copy->dstArray, &element));
    *out = (CUDA_MEMCPY3D){.srcXInBytes = from.x,
                           .srcY = copy->srcPos.y,
                           .srcZ = copy->srcPos.z,
                           .srcMemoryType = from.type,
                           .srcHost = from.host,
                           .srcDevice = from.device,
                           .srcArray = from.array,
                           .srcPitch = from.pitch,
                           .srcHeight = from.height,
                           .dstXInBytes = to.x,
                           .dstY = copy->dstPos.y,
                           .dstZ = copy->dstPos.z,
                           .dstMemoryType = to.type,
                           .dstHost = (void *)to.host,
                           .dstDevice = to.device,
                           .dstArray = to.array,
                           .dstPitch = to.pitch,
                           .dstHeight = to.height,
                           .WidthInBytes = copy->extent.width * element,
                           .Height = copy->extent.height,
                           .Depth = copy->extent.depth};
    return cudaSuccess;
}

static bool is_empty(struct cudaExtent extent) { return !extent.width || !extent.height || !extent.depth; }

cudaError_t run_cudaMemcpy3D(const struct cudaMemcpy3DParms *copy)
{
    CUDA_MEMCPY3D driver;
    if (copy && is_empty(copy->extent)) return cudaSuccess;
    TRY(runtime_copy_3d(copy, &driver));
    return (cudaError_t)PTDS_OF(cuMemcpy3D_v2)(&driver);
}

cudaError_t run_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *copy, cudaStream_t stream)
{
    CUDA_MEMCPY3D driver;
    if (copy && is_empty(copy->extent)) return cudaSuccess;
    TRY(runtime_copy_3d(copy, &driver));
    return (cudaError_t)PTSZ_OF(cuMemcpy3DAsync_v2)(&driver, stream);
}

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *copy, CUDA_MEMCPY3D_PEER *out)
{
    Side from, to;
    size_t element;
    CUcontext from_context, to_context;
    if (!copy) return cudaErrorInvalidValue;
    TRY(runtime_primary(copy->srcDevice, &from_context));
    TRY(runtime_primary(copy->dstDevice, &to_context));
    TRY(side_3d(copy->srcArray, &copy->srcPtr, copy->srcPos, CU_MEMORYTYPE_DEVICE, &from));
    TRY(side_3d(copy->dstArray, &copy->dstPtr, copy->dstPos, CU_MEMORYTYPE_DEVICE, &to));
    TRY(copied_element(copy->srcArray, copy->dstArray, &element));
    *out = (CUDA_MEMCPY3D_PEER){.srcXInBytes = from.x,
                                .srcY = copy->srcPos.y,
                                .srcZ = copy->srcPos.z,
                                .srcMemoryType = from.type,
                                .srcDevice = from.device,
                                .srcArray = from.array,
                                .srcContext = from_context,
                                .srcPitch = from.pitch,
                                .srcHeight = from.height,
                                .dstXInBytes = to.x,
                                .dstY = copy->dstPos.y,
                                .dstZ = copy->dstPos.z,
                                .dstMemoryType = to.type,
                                .dstDevice = to.device,
                                .dstArray = to.array,
                                .dstContext = to_context,
                                .dstPitch = to.pitch,
                                .dstHeight = to.height,
                                .WidthInBytes = copy->extent.width * element,
                                .Height = copy->extent.height,
                                .Depth = copy->extent.depth};
    return cudaSuccess;
}

cudaError_t run_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *copy)
{
    CUDA_MEMCPY3D_PEER driver;
    TRY(copy_3d_peer(copy, &driver));
    return is_empty(copy->extent) ? cudaSuccess : (cudaError_t)PTDS_OF(cuMemcpy3DPeer)(&driver);
}

cudaError_t run_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *copy, cudaStream_t stream)
{
    CUDA_MEMCPY3D_PEER driver;
    TRY(copy_3d_peer(copy, &driver));
    return is_empty(copy->extent) ? cudaSuccess : (cudaError_t)PTSZ_OF(cuMemcpy3DPeerAsync)(&driver, stream);
}

cudaError_t runtime_copy_line(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                              CUDA_MEMCPY3D *out)
{
    struct cudaMemcpy3DParms copy = {
        .srcPtr = {.ptr = (void *)from}, .dstPtr = {.ptr = to}, .extent = {count, 1, 1}, .kind = kind};
    return runtime_copy_3d(&copy, out);
}

/* The direction between two kinds of memory, of which arrays are the device's. */
static enum cudaMemcpyKind kind_between(CUmemorytype from, CUmemorytype to)
{
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

cudaError_t runtime_copy_3d_back(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *out)
{
    size_t from_element, to_element;
    bool from_array = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY;
    bool to_array = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    TRY(runtime_element_size(from_array ? copy->srcArray : NULL, &from_element));
    TRY(runtime_element_size(to_array ? copy->dstArray : NULL, &to_element));
    size_t element = from_array ? from_element : to_element;
    *out = (struct cudaMemcpy3DParms){
        .srcPos = {copy->srcXInBytes / from_element, copy->srcY, copy->srcZ},
        .dstPos = {copy->dstXInBytes / to_element, copy->dstY, copy->dstZ},
        .extent = {copy->WidthInBytes / element, copy->Height, copy->Depth},
        .kind = kind_between(copy->srcMemoryType, copy->dstMemoryType),
    };
    void *from = copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)copy->srcHost
                                                           : (void *)(uintptr_t)copy->srcDevice;
    void *to = copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost : (void *)(uintptr_t)copy->dstDevice;
    if (from_array)
        out->srcArray = copy->srcArray;
    else
        out->srcPtr = (struct cudaPitchedPtr){from, copy->srcPitch, 0, copy->srcHeight};
    if (to_array)
        out->dstArray = copy->dstArray;
    else
        out->dstPtr = (struct cudaPitchedPtr){to, copy->dstPitch, 0, copy->dstHeight};
    return cudaSuccess;
}
