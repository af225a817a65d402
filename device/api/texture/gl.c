/* Buffers and textures of OpenGL: mapped ones are copies, which go back when they are unmapped.
 *
 * The library is not linked with OpenGL: what the program has loaded of it is asked, in the thread that
 * calls. So it works with every implementation in software, and programs that share memory with OpenGL are
 * tested without a GPU.
 */
#include <dlfcn.h>
#include <string.h>

#include "api/base/log.h"
#include "api/copy/mipmap.h"
#include "api/memory/memory.h"
#include "api/stream/queue.h"

/* ---- OpenGL ---- */

/* The part of OpenGL's header that is used. */
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

/* How the library that made the thread's current context of OpenGL finds functions, or NULL. */
static FindFn current_finder(void)
{
    static const char *const libraries[][3] = {
        {"libEGL.so.1", "eglGetCurrentContext", "eglGetProcAddress"},
        {"libGLX.so.0", "glXGetCurrentContext", "glXGetProcAddressARB"},
        {"libGL.so.1", "glXGetCurrentContext", "glXGetProcAddressARB"}};
    FindFn found = NULL;
    for (size_t i = 0; !found && i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i][0], RTLD_NOLOAD | RTLD_LAZY);
        if (!library) continue;
        void *(*current)(void);
        *(void **)&current = dlsym(library, libraries[i][1]);
        if (current && current()) *(void **)&found = dlsym(library, libraries[i][2]);
        dlclose(library); /* the program holds it */
    }
    return found;
}

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

/* Pixels lie close together, and no buffer takes their place, between save and restore. */
static const struct PixelState {
    unsigned name, buffer; /* what it is, or where a buffer is bound */
    int value;
} pixel_state[] = {{0x0d05, 0, 1}, {0x0d02, 0, 0}, {0x0d03, 0, 0}, {0x0d04, 0, 0},      {0x0cf5, 0, 1},
                   {0x0cf2, 0, 0}, {0x0cf3, 0, 0}, {0x0cf4, 0, 0}, {0x88ed, 0x88eb, 0}, {0x88ef, 0x88ec, 0}};
enum { PIXEL_STATES = sizeof pixel_state / sizeof pixel_state[0] };

static void set_pixels(const OpenGL *gl, const int *values)
{
    for (int i = 0; i < PIXEL_STATES; i++) {
        if (pixel_state[i].buffer)
            gl->glBindBuffer(pixel_state[i].buffer, (unsigned)values[i]);
        else
            gl->glPixelStorei(pixel_state[i].name, values[i]);
    }
}

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
    int internal;
    CUarray_format format;
    unsigned channels, pixels, type;
} GlFormat;

#define NUMBERS(one, two, four, format, type) \
    {one, format, 1, GL_RED, type}, {two, format, 2, GL_RG, type}, { four, format, 4, GL_RGBA, type }
#define INTEGERS(one, two, four, format, type) \
    {one, format, 1, GL_RED_INTEGER, type}, {two, format, 2, GL_RG_INTEGER, type}, \
    { \
        four, format, 4, GL_RGBA_INTEGER, type \
    }

static const GlFormat formats[] = {
    NUMBERS(0x8229, 0x822b, 0x8058, CU_AD_FORMAT_UNSIGNED_INT8, GL_UNSIGNED_BYTE),
    NUMBERS(0x822a, 0x822c, 0x805b, CU_AD_FORMAT_UNSIGNED_INT16, GL_UNSIGNED_SHORT),
    NUMBERS(0x822d, 0x822f, 0x881a, CU_AD_FORMAT_HALF, GL_HALF_FLOAT),
    NUMBERS(0x822e, 0x8230, 0x8814, CU_AD_FORMAT_FLOAT, GL_FLOAT),
    INTEGERS(0x8231, 0x8237, 0x8d8e, CU_AD_FORMAT_SIGNED_INT8, GL_BYTE),
    INTEGERS(0x8232, 0x8238, 0x8d7c, CU_AD_FORMAT_UNSIGNED_INT8, GL_UNSIGNED_BYTE),
    INTEGERS(0x8233, 0x8239, 0x8d88, CU_AD_FORMAT_SIGNED_INT16, GL_SHORT),
    INTEGERS(0x8234, 0x823a, 0x8d76, CU_AD_FORMAT_UNSIGNED_INT16, GL_UNSIGNED_SHORT),
    INTEGERS(0x8235, 0x823b, 0x8d82, CU_AD_FORMAT_SIGNED_INT32, GL_INT),
    INTEGERS(0x8236, 0x823c, 0x8d70, CU_AD_FORMAT_UNSIGNED_INT32, GL_UNSIGNED_INT),
    {GL_RGBA, CU_AD_FORMAT_UNSIGNED_INT8, 4, GL_RGBA, GL_UNSIGNED_BYTE},
};

static const GlFormat *find_format(int internal)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].internal == internal) return &formats[i];
    return NULL;
}

/* ---- Resources ---- */

typedef struct CUgraphicsResource_st {
    Object object;
    unsigned name, target, flags; /* target: 0 for a buffer */
    bool mapped;
    CUdeviceptr memory;           /* of a buffer, while it is mapped */
    size_t size;
    MipmappedArray *levels;       /* of an image, while it is mapped */
    const GlFormat *format;
} Resource;

static void forget_mapping(Resource *resource)
{
    if (resource->memory) memory_release_of(OBJECT(resource), resource->memory);
    if (resource->levels) cuMipmappedArrayDestroy(resource->levels);
    resource->memory = 0;
    resource->levels = NULL;
    resource->mapped = false;
}

/* The array is an object of the context, which has its own end. */
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

/* All devices, whatever the list: OpenGL does not divide its frames among them. */
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
    OpenGL gl;
    if (!out || flags > 15) return CUDA_ERROR_INVALID_VALUE;
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
    if (flags > CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD) return CUDA_ERROR_INVALID_VALUE;
    Resource *resource = object_get(handle, OBJECT_GRAPHICS);
    if (!resource) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = resource->mapped ? CUDA_ERROR_ALREADY_MAPPED : CUDA_SUCCESS;
    if (!result) resource->flags = (resource->flags & ~3u) | flags;
    PUT(resource);
    return result;
}

/* ---- To and from OpenGL ---- */

static bool reads(const Resource *resource)
{
    return !(resource->flags & CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD);
}

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

/* How many levels follow each other, each half as large as the one before it. */
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

/* The texture is bound. */
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
    if (result)
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
