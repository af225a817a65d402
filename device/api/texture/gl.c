/* Buffers and textures of OpenGL: mapping copies their contents to memory of the CPU device, unmapping
 * copies them back.
 *
 * The library is not linked with OpenGL. It calls the OpenGL library that the program has loaded, in the
 * thread that makes the driver call. So it works with every software implementation, and programs that share
 * memory with OpenGL can be tested without a GPU.
 */
#include <dlfcn.h>
#include <string.h>

#include "api/base/log.h"
#include "api/copy/mipmap.h"
#include "api/memory/memory.h"
#include "api/stream/queue.h"

/* ---- OpenGL ---- */

/* Constants of OpenGL's header. */
enum {
    GL_ZERO = 0,
    GL_TEXTURE_2D = 0x0de1,
    GL_TEXTURE_RECTANGLE = 0x84f5,
    GL_TEXTURE_BINDING_2D = 0x8069,
    GL_TEXTURE_BINDING_RECTANGLE = 0x84f6,
    GL_TEXTURE_WIDTH = 0x1000,
    GL_TEXTURE_HEIGHT = 0x1001,
    GL_TEXTURE_INTERNAL_FORMAT = 0x1003,
    GL_COPY_WRITE_BUFFER = 0x8f37,
    GL_BUFFER_SIZE = 0x8764,
    GL_BYTE = 0x1400,
    GL_UNSIGNED_BYTE,
    GL_SHORT,
    GL_UNSIGNED_SHORT,
    GL_INT,
    GL_UNSIGNED_INT,
    GL_FLOAT,
    GL_HALF_FLOAT = 0x140b,
    GL_RED = 0x1903,
    GL_RGBA = 0x1908,
    GL_RG = 0x8227,
    GL_RG_INTEGER = 0x8228,
    GL_RED_INTEGER = 0x8d94,
    GL_RGBA_INTEGER = 0x8d99
};

#define GL_FUNCTIONS(X) \
    X(glBindBuffer, void, (unsigned target, unsigned name)) \
    X(glBindTexture, void, (unsigned target, unsigned name)) \
    X(glBufferSubData, void, (unsigned target, intptr_t offset, intptr_t size, const void *data)) \
    X(glGetBufferParameteriv, void, (unsigned target, unsigned what, int *out)) \
    X(glGetBufferSubData, void, (unsigned target, intptr_t offset, intptr_t size, void *data)) \
    X(glGetError, unsigned, (void)) \
    X(glGetIntegerv, void, (unsigned what, int *out)) \
    X(glGetTexImage, void, (unsigned target, int level, unsigned format, unsigned type, void *pixels)) \
    X(glGetTexLevelParameteriv, void, (unsigned target, int level, unsigned what, int *out)) \
    X(glIsBuffer, unsigned char, (unsigned name)) \
    X(glIsTexture, unsigned char, (unsigned name)) \
    X(glPixelStorei, void, (unsigned what, int value)) \
    X(glTexSubImage2D, void, \
      (unsigned target, int level, int x, int y, int width, int height, unsigned format, unsigned type, \
       const void *pixels))

typedef struct OpenGL {
#define X(name, result, params) result(*name) params;
    GL_FUNCTIONS(X)
#undef X
} OpenGL;

typedef void *(*FindFn)(const char *name);

/* The function that finds OpenGL's functions, of the library (EGL or GLX) that made the thread's current
 * OpenGL context; NULL if there is no context. */
static FindFn current_finder(void)
{
    static const struct {
        const char *name, *current_context, *find_function;
    } libraries[] = {{"libEGL.so.1", "eglGetCurrentContext", "eglGetProcAddress"},
                     {"libGLX.so.0", "glXGetCurrentContext", "glXGetProcAddressARB"},
                     {"libGL.so.1", "glXGetCurrentContext", "glXGetProcAddressARB"}};
    FindFn found = NULL;
    for (size_t i = 0; !found && i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i].name, RTLD_NOLOAD | RTLD_LAZY);
        if (!library) continue;
        void *(*current)(void);
        *(void **)&current = dlsym(library, libraries[i].current_context);
        if (current && current()) *(void **)&found = dlsym(library, libraries[i].find_function);
        dlclose(library); /* the program still has it open */
    }
    return found;
}

/* Finds OpenGL's functions; an error if the thread has no context, or one without all of them. */
static CUresult enter_gl(OpenGL *gl)
{
    FindFn find = current_finder();
    bool complete = find != NULL;
    if (!find) log_error("no OpenGL context is current in this thread");
#define X(name, result, params) complete = complete && (*(void **)&gl->name = find(#name));
    GL_FUNCTIONS(X)
#undef X
    if (find && !complete) log_error("the current OpenGL context is older than 3.1");
    return complete ? CUDA_SUCCESS : CUDA_ERROR_INVALID_GRAPHICS_CONTEXT;
}

enum {
    GL_UNPACK_ROW_LENGTH = 0x0cf2,
    GL_UNPACK_SKIP_ROWS = 0x0cf3,
    GL_UNPACK_SKIP_PIXELS = 0x0cf4,
    GL_UNPACK_ALIGNMENT = 0x0cf5,
    GL_PACK_ROW_LENGTH = 0x0d02,
    GL_PACK_SKIP_ROWS = 0x0d03,
    GL_PACK_SKIP_PIXELS = 0x0d04,
    GL_PACK_ALIGNMENT = 0x0d05,
    GL_PIXEL_PACK_BUFFER = 0x88eb,
    GL_PIXEL_UNPACK_BUFFER = 0x88ec,
    GL_PIXEL_PACK_BUFFER_BINDING = 0x88ed,
    GL_PIXEL_UNPACK_BUFFER_BINDING = 0x88ef
};

/* OpenGL's state for copies of pixels, as it has to be while textures are copied: rows without gaps, to and
 * from addresses instead of buffers. */
static const struct PixelState {
    unsigned name;   /* the parameter, or the binding of a buffer */
    unsigned buffer; /* of a binding: its target; else 0 */
    int value;       /* the necessary one */
} pixel_state[] = {
    {GL_PACK_ALIGNMENT, 0, 1},
    {GL_PACK_ROW_LENGTH, 0, 0},
    {GL_PACK_SKIP_ROWS, 0, 0},
    {GL_PACK_SKIP_PIXELS, 0, 0},
    {GL_UNPACK_ALIGNMENT, 0, 1},
    {GL_UNPACK_ROW_LENGTH, 0, 0},
    {GL_UNPACK_SKIP_ROWS, 0, 0},
    {GL_UNPACK_SKIP_PIXELS, 0, 0},
    {GL_PIXEL_PACK_BUFFER_BINDING, GL_PIXEL_PACK_BUFFER, 0},
    {GL_PIXEL_UNPACK_BUFFER_BINDING, GL_PIXEL_UNPACK_BUFFER, 0},
};
enum { PIXEL_STATES = sizeof pixel_state / sizeof pixel_state[0] };

/* Sets the state, for example to what save_pixels() has saved. */
static void set_pixels(const OpenGL *gl, const int *values)
{
    for (int i = 0; i < PIXEL_STATES; i++) {
        if (pixel_state[i].buffer)
            gl->glBindBuffer(pixel_state[i].buffer, (unsigned)values[i]);
        else
            gl->glPixelStorei(pixel_state[i].name, values[i]);
    }
}

/* Saves the program's state to PIXEL_STATES values, and sets the necessary one. */
static void save_pixels(const OpenGL *gl, int *before)
{
    int wanted[PIXEL_STATES];
    for (int i = 0; i < PIXEL_STATES; i++) {
        gl->glGetIntegerv(pixel_state[i].name, &before[i]);
        wanted[i] = pixel_state[i].value;
    }
    set_pixels(gl, wanted);
}

/* ---- Formats ---- */

typedef struct GlFormat {
    int internal;          /* OpenGL's format of a texture */
    CUarray_format format; /* the same for an array, with the channels */
    unsigned channels;
    unsigned pixels, type; /* format and type of OpenGL's copies of pixels */
} GlFormat;

/* Three rows each: the internal formats with one, two and four channels. */
#define NUMBERS(one, two, four, format, type) \
    {one, format, 1, GL_RED, type}, {two, format, 2, GL_RG, type}, { four, format, 4, GL_RGBA, type }
#define INTEGERS(one, two, four, format, type) \
    {one, format, 1, GL_RED_INTEGER, type}, {two, format, 2, GL_RG_INTEGER, type}, \
    { \
        four, format, 4, GL_RGBA_INTEGER, type \
    }

/* clang-format off */
static const GlFormat formats[] = {
    /* GL_R8, GL_RG8, GL_RGBA8 and so on */
    NUMBERS(0x8229, 0x822b, 0x8058, CU_AD_FORMAT_UNSIGNED_INT8, GL_UNSIGNED_BYTE),       /* 8 */
    NUMBERS(0x822a, 0x822c, 0x805b, CU_AD_FORMAT_UNSIGNED_INT16, GL_UNSIGNED_SHORT),     /* 16 */
    NUMBERS(0x822d, 0x822f, 0x881a, CU_AD_FORMAT_HALF, GL_HALF_FLOAT),                   /* 16F */
    NUMBERS(0x822e, 0x8230, 0x8814, CU_AD_FORMAT_FLOAT, GL_FLOAT),                       /* 32F */
    INTEGERS(0x8231, 0x8237, 0x8d8e, CU_AD_FORMAT_SIGNED_INT8, GL_BYTE),                 /* 8I */
    INTEGERS(0x8232, 0x8238, 0x8d7c, CU_AD_FORMAT_UNSIGNED_INT8, GL_UNSIGNED_BYTE),      /* 8UI */
    INTEGERS(0x8233, 0x8239, 0x8d88, CU_AD_FORMAT_SIGNED_INT16, GL_SHORT),               /* 16I */
    INTEGERS(0x8234, 0x823a, 0x8d76, CU_AD_FORMAT_UNSIGNED_INT16, GL_UNSIGNED_SHORT),    /* 16UI */
    INTEGERS(0x8235, 0x823b, 0x8d82, CU_AD_FORMAT_SIGNED_INT32, GL_INT),                 /* 32I */
    INTEGERS(0x8236, 0x823c, 0x8d70, CU_AD_FORMAT_UNSIGNED_INT32, GL_UNSIGNED_INT),      /* 32UI */
    {GL_RGBA, CU_AD_FORMAT_UNSIGNED_INT8, 4, GL_RGBA, GL_UNSIGNED_BYTE},
};
/* clang-format on */

static const GlFormat *find_format(int internal)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].internal == internal) return &formats[i];
    return NULL;
}

/* ---- Resources ---- */

typedef struct CUgraphicsResource_st {
    Object object;
    unsigned name;          /* OpenGL's */
    unsigned target;        /* of a texture; GL_ZERO: it is a buffer */
    unsigned flags;         /* CU_GRAPHICS_REGISTER_FLAGS_*; the lowest two bits also by SetMapFlags */
    bool mapped;
    CUdeviceptr memory;     /* of a buffer, while it is mapped: owned */
    size_t size;            /* its bytes */
    MipmappedArray *levels; /* of a texture, while it is mapped: a handle, which forget_mapping() destroys */
    const GlFormat *format; /* of a texture */
} Resource;

/* Frees the memory or the arrays of a mapped resource. */
static void forget_mapping(Resource *resource)
{
    if (resource->memory) memory_release_of(OBJECT(resource), resource->memory);
    if (resource->levels) cuMipmappedArrayDestroy(resource->levels);
    resource->memory = 0;
    resource->levels = NULL;
    resource->mapped = false;
}

/* Frees the memory only: the arrays are objects of the context, which it retires itself. */
static void release_resource(Object *object)
{
    Resource *resource = (Resource *)object;
    if (resource->memory) memory_release_of(object, resource->memory);
}

static CUresult new_resource(CUgraphicsResource *out, unsigned name, unsigned target, unsigned flags)
{
    Context *context;
    TRY(context_enter(&context));
    Resource *resource = object_new(OBJECT_GRAPHICS, sizeof *resource, context, release_resource);
    if (!resource) return CUDA_ERROR_OUT_OF_MEMORY;
    resource->name = name;
    resource->target = target;
    resource->flags = flags;
    CUresult result = object_publish(OBJECT(resource));
    if (!result) *out = resource;
    PUT(resource);
    return result;
}

/* All devices, for any `list`: OpenGL renders each frame with all of them. */
CUresult cuGLGetDevices_v2(unsigned *count, CUdevice *devices, unsigned capacity, CUGLDeviceList list)
{
    OpenGL gl;
    int present = 0;
    (void)list;
    if (!count || (capacity && !devices)) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_gl(&gl));
    TRY(cuDeviceGetCount(&present));
    for (unsigned i = 0; i < (unsigned)present && i < capacity; i++) devices[i] = (CUdevice)i;
    *count = (unsigned)present;
    return CUDA_SUCCESS;
}

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *out, unsigned name, unsigned flags)
{
    OpenGL gl;
    if (!out || flags > CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_gl(&gl));
    if (gl.glIsBuffer(name)) return new_resource(out, name, GL_ZERO, flags);
    log_error("OpenGL has no buffer %u", name);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *out, unsigned name, unsigned target, unsigned flags)
{
    enum { ALL_IMAGE_FLAGS = 15 };
    OpenGL gl;
    if (!out || flags > ALL_IMAGE_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    TRY(enter_gl(&gl));
    if (target != GL_TEXTURE_2D && target != GL_TEXTURE_RECTANGLE) {
        log_error("images with OpenGL target 0x%x are not supported by the CPU device", target);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (gl.glIsTexture(name)) return new_resource(out, name, target, flags);
    log_error("OpenGL has no texture %u", name);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphicsUnregisterResource(CUgraphicsResource handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = queue_wait_context(resource->object.context);
    if (!result) forget_mapping(resource);
    if (!result && !object_retire(OBJECT(resource))) result = CUDA_ERROR_INVALID_HANDLE;
    PUT(resource);
    return result;
}

CUresult cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource handle, unsigned flags)
{
    enum { ACCESS_FLAGS = 3 }; /* CU_GRAPHICS_MAP_RESOURCE_FLAGS_* */
    if (flags > CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD) return CUDA_ERROR_INVALID_VALUE;
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = resource->mapped ? CUDA_ERROR_ALREADY_MAPPED : CUDA_SUCCESS;
    if (!result) resource->flags = (resource->flags & ~(unsigned)ACCESS_FLAGS) | flags;
    PUT(resource);
    return result;
}

/* ---- To and from OpenGL ---- */

/* Whether mapping has to copy the contents from OpenGL. */
static bool reads(const Resource *resource)
{
    return !(resource->flags & CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD);
}

/* Whether unmapping has to copy the contents to OpenGL. */
static bool writes(const Resource *resource)
{
    return !(resource->flags & CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY);
}

static CUresult map_buffer(const OpenGL *gl, Resource *resource)
{
    int before, size = 0;
    CUresult result = CUDA_ERROR_MAP_FAILED;
    gl->glGetIntegerv(GL_COPY_WRITE_BUFFER, &before);
    gl->glBindBuffer(GL_COPY_WRITE_BUFFER, resource->name);
    gl->glGetBufferParameteriv(GL_COPY_WRITE_BUFFER, GL_BUFFER_SIZE, &size);
    if (size > 0) {
        MemoryRequest request = {.size = (uint64_t)size, .kind = MEMORY_DEVICE};
        result = memory_allocate(resource->object.context, &request, &resource->memory);
        resource->size = (size_t)size;
    }
    if (!result && reads(resource))
        gl->glGetBufferSubData(GL_COPY_WRITE_BUFFER, 0, size, (void *)(uintptr_t)resource->memory);
    gl->glBindBuffer(GL_COPY_WRITE_BUFFER, (unsigned)before);
    return result;
}

/* Copies the memory of a mapped buffer to OpenGL. */
static void put_buffer(const OpenGL *gl, const Resource *resource)
{
    int before;
    gl->glGetIntegerv(GL_COPY_WRITE_BUFFER, &before);
    gl->glBindBuffer(GL_COPY_WRITE_BUFFER, resource->name);
    gl->glBufferSubData(GL_COPY_WRITE_BUFFER, 0, (intptr_t)resource->size,
                        (const void *)(uintptr_t)resource->memory);
    gl->glBindBuffer(GL_COPY_WRITE_BUFFER, (unsigned)before);
}

static unsigned binding_of(unsigned target)
{
    return target == GL_TEXTURE_2D ? GL_TEXTURE_BINDING_2D : GL_TEXTURE_BINDING_RECTANGLE;
}

static int level_parameter(const OpenGL *gl, const Resource *resource, unsigned level, unsigned what)
{
    int value = 0;
    gl->glGetTexLevelParameteriv(resource->target, (int)level, what, &value);
    return value;
}

/* How many levels the texture has: from the first on, each half as large as the one before, of one format. */
static unsigned count_levels(const OpenGL *gl, const Resource *resource, int width, int height, int internal)
{
    unsigned count = 1;
    while (resource->target == GL_TEXTURE_2D && (width > 1 || height > 1)) {
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
        if (level_parameter(gl, resource, count, GL_TEXTURE_WIDTH) != width
            || level_parameter(gl, resource, count, GL_TEXTURE_HEIGHT) != height
            || level_parameter(gl, resource, count, GL_TEXTURE_INTERNAL_FORMAT) != internal)
            break;
        count++;
    }
    return count;
}

/* Makes the mipmapped array for the texture, which must be bound. */
static CUresult make_levels(const OpenGL *gl, Resource *resource)
{
    int width = level_parameter(gl, resource, 0, GL_TEXTURE_WIDTH);
    int height = level_parameter(gl, resource, 0, GL_TEXTURE_HEIGHT);
    int internal = level_parameter(gl, resource, 0, GL_TEXTURE_INTERNAL_FORMAT);
    resource->format = find_format(internal);
    if (!resource->format) {
        log_error("textures with OpenGL format 0x%x are not supported", (unsigned)internal);
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool stores = resource->flags & CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST;
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = (size_t)width,
                                     .Height = (size_t)height,
                                     .Format = resource->format->format,
                                     .NumChannels = resource->format->channels,
                                     .Flags = stores ? CUDA_ARRAY3D_SURFACE_LDST : 0};
    unsigned count = count_levels(gl, resource, width, height, internal);
    return cuMipmappedArrayCreate(&resource->levels, &shape, count);
}

static CUresult map_image(const OpenGL *gl, Resource *resource)
{
    int bound, before[PIXEL_STATES];
    gl->glGetIntegerv(binding_of(resource->target), &bound);
    save_pixels(gl, before);
    gl->glBindTexture(resource->target, resource->name);
    CUresult result = make_levels(gl, resource);
    for (unsigned k = 0; !result && reads(resource) && k < resource->levels->levels; k++)
        gl->glGetTexImage(resource->target, (int)k, resource->format->pixels, resource->format->type,
                          (void *)(uintptr_t)resource->levels->level[k]->storage);
    gl->glBindTexture(resource->target, (unsigned)bound);
    set_pixels(gl, before);
    return result;
}

/* Copies the arrays of a mapped texture to OpenGL. */
static void put_image(const OpenGL *gl, const Resource *resource)
{
    int bound, before[PIXEL_STATES];
    gl->glGetIntegerv(binding_of(resource->target), &bound);
    save_pixels(gl, before);
    gl->glBindTexture(resource->target, resource->name);
    for (unsigned k = 0; k < resource->levels->levels; k++) {
        const Array *array = resource->levels->level[k];
        gl->glTexSubImage2D(resource->target, (int)k, 0, 0, (int)array->shape.Width, (int)array->rows,
                            resource->format->pixels, resource->format->type,
                            (const void *)(uintptr_t)array->storage);
    }
    gl->glBindTexture(resource->target, (unsigned)bound);
    set_pixels(gl, before);
}

/* ---- Mapping ---- */

static CUresult map_one(const OpenGL *gl, CUgraphicsResource handle)
{
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    if (!resource->mapped) {
        result = resource->target ? map_image(gl, resource) : map_buffer(gl, resource);
        resource->mapped = !result;
        if (result) forget_mapping(resource);
    }
    PUT(resource);
    return result;
}

static CUresult unmap_one(const OpenGL *gl, CUgraphicsResource handle)
{
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = resource->mapped ? CUDA_SUCCESS : CUDA_ERROR_NOT_MAPPED;
    if (!result && writes(resource)) {
        if (resource->target)
            put_image(gl, resource);
        else
            put_buffer(gl, resource);
    }
    if (!result) forget_mapping(resource);
    PUT(resource);
    return result;
}

CUresult cuGraphicsMapResources(unsigned count, CUgraphicsResource *resources, CUstream stream)
{
    OpenGL gl;
    Context *context;
    CUresult result = CUDA_SUCCESS;
    unsigned done = 0;
    if (!count || !resources) return CUDA_ERROR_INVALID_VALUE;
    TRY(context_enter(&context));
    TRY(enter_gl(&gl));
    TRY(cuStreamSynchronize(stream));
    while (!result && done < count) result = map_one(&gl, resources[done++]);
    if (result) /* the last one was not mapped */
        for (done--; done;) unmap_one(&gl, resources[--done]);
    return result;
}

/* Waits for all work of the context, not only for `stream`: a kernel may use the memory in any stream. */
CUresult cuGraphicsUnmapResources(unsigned count, CUgraphicsResource *resources, CUstream stream)
{
    OpenGL gl;
    Context *context;
    CUresult result = CUDA_SUCCESS;
    (void)stream;
    if (!count || !resources) return CUDA_ERROR_INVALID_VALUE;
    TRY(context_enter_any(&context));
    TRY(enter_gl(&gl));
    TRY(queue_wait_context(context));
    for (unsigned i = 0; !result && i < count; i++) result = unmap_one(&gl, resources[i]);
    return result;
}

CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *pointer, size_t *size, CUgraphicsResource handle)
{
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = !resource->mapped  ? CUDA_ERROR_NOT_MAPPED
                      : resource->target ? CUDA_ERROR_NOT_MAPPED_AS_POINTER
                                         : CUDA_SUCCESS;
    if (!result && pointer) *pointer = resource->memory;
    if (!result && size) *size = resource->size;
    PUT(resource);
    return result;
}

/* An error unless the resource is mapped as an image. */
static CUresult check_image(const Resource *resource)
{
    return !resource->mapped   ? CUDA_ERROR_NOT_MAPPED
           : !resource->target ? CUDA_ERROR_NOT_MAPPED_AS_ARRAY
                               : CUDA_SUCCESS;
}

CUresult cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *out, CUgraphicsResource handle)
{
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = out ? check_image(resource) : CUDA_ERROR_INVALID_VALUE;
    if (!result) *out = resource->levels;
    PUT(resource);
    return result;
}

CUresult cuGraphicsSubResourceGetMappedArray(CUarray *array, CUgraphicsResource handle, unsigned index,
                                             unsigned level)
{
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = array ? check_image(resource) : CUDA_ERROR_INVALID_VALUE;
    if (!result && index) {
        log_error("a texture of two dimensions has no layer or face %u: the index is 0", index);
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (!result) result = cuMipmappedArrayGetLevel(array, resource->levels, level);
    PUT(resource);
    return result;
}
