/* Texture and surface objects: what is refused, what the getters return, and the faults of kernels that
 * use objects which are not alive, of another dimension, or whose memory is gone. */
#include "check.h"

#include "api/base/api.h"
#include "texture_run.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)
#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)

static const TextureCase plain = {.op = "tex.2d.v4.f32.f32",
                                  .geometry = G_2D,
                                  .format = F32,
                                  .channels = 1,
                                  .address = {CLAMP, CLAMP, CLAMP},
                                  .size = {16, 8, 0}};

/* A new 2D array of 16 x 8 floats. */
static CUarray make_array(unsigned flags)
{
    CUarray array = NULL;
    CUDA_ARRAY3D_DESCRIPTOR shape = {16, 8, 0, F32, 1, flags};
    OK(cuArray3DCreate_v2(&array, &shape));
    return array;
}

static CUDA_RESOURCE_DESC resource_of(CUarray array)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    resource.res.array.hArray = array;
    return resource;
}

/* The getters of a texture object return the descriptions it was made from. */
static void test_getters(void)
{
    CUarray array = make_array(0);
    CUDA_RESOURCE_DESC resource = resource_of(array), got;
    CUDA_TEXTURE_DESC texture = {.addressMode = {MIRROR, BORDER, WRAP},
                                 .flags = NORMALIZED,
                                 .filterMode = LINEAR},
                      read;
    CUDA_RESOURCE_VIEW_DESC view;
    CUtexObject object;
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    OK(cuTexObjectGetResourceDesc(&got, object));
    CHECK(got.res.array.hArray == array && got.resType == CU_RESOURCE_TYPE_ARRAY);
    OK(cuTexObjectGetTextureDesc(&read, object));
    CHECK(!memcmp(&read, &texture, sizeof read));
    BAD(cuTexObjectGetResourceViewDesc(&view, object)); /* made without a view */
    BAD(cuSurfObjectGetResourceDesc(&got, object));
    OK(cuTexObjectDestroy(object));
    BAD(cuTexObjectDestroy(object));
    BAD(cuTexObjectGetTextureDesc(&read, object));
    OK(cuArrayDestroy(array));
}

static void test_refused_textures(void)
{
    CUarray array = make_array(0);
    CUDA_RESOURCE_DESC resource = resource_of(array), nothing = resource_of(NULL), mipmap = {.resType = 1};
    CUDA_TEXTURE_DESC texture = {0}, mode = {.addressMode = {4, 0, 0}}, filter = {.filterMode = 2},
                      flags = {.flags = 0x1000};
    CUtexObject object;
    CUsurfObject surface;
    BAD(cuTexObjectCreate(NULL, &resource, &texture, NULL));
    BAD(cuTexObjectCreate(&object, NULL, &texture, NULL));
    BAD(cuTexObjectCreate(&object, &resource, NULL, NULL));
    BAD(cuTexObjectCreate(&object, &resource, &mode, NULL));
    BAD(cuTexObjectCreate(&object, &resource, &filter, NULL));
    BAD(cuTexObjectCreate(&object, &resource, &flags, NULL));
    CHECK_EQUAL(cuTexObjectCreate(&object, &nothing, &texture, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuTexObjectCreate(&object, &mipmap, &texture, NULL), CUDA_ERROR_INVALID_HANDLE);
    BAD(cuSurfObjectCreate(&surface, &resource)); /* the array lacks CUDA_ARRAY3D_SURFACE_LDST */
    OK(cuArrayDestroy(array));
}

/* Textures of linear and pitched memory must lie within an allocation, aligned, in a format that exists. */
static void test_refused_memory(void)
{
    CUdeviceptr memory;
    CUDA_TEXTURE_DESC texture = {0};
    CUtexObject object;
    OK(cuMemAlloc_v2(&memory, 4096));
    CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
    linear.res.linear.devPtr = memory;
    linear.res.linear.format = F32;
    linear.res.linear.numChannels = 1;
    linear.res.linear.sizeInBytes = 4096;
    OK(cuTexObjectCreate(&object, &linear, &texture, NULL));
    OK(cuTexObjectDestroy(object));
    linear.res.linear.sizeInBytes = 8192; /* past the allocation */
    BAD(cuTexObjectCreate(&object, &linear, &texture, NULL));
    linear.res.linear.sizeInBytes = 1024;
    linear.res.linear.devPtr = memory + 4; /* misaligned */
    BAD(cuTexObjectCreate(&object, &linear, &texture, NULL));
    linear.res.linear.devPtr = memory;
    linear.res.linear.numChannels = 3;
    BAD(cuTexObjectCreate(&object, &linear, &texture, NULL));
    CUDA_RESOURCE_DESC pitch = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    pitch.res.pitch2D.devPtr = memory;
    pitch.res.pitch2D.format = F32;
    pitch.res.pitch2D.numChannels = 1;
    pitch.res.pitch2D.width = 16;
    pitch.res.pitch2D.height = 8;
    pitch.res.pitch2D.pitchInBytes = 60; /* shorter than a row */
    BAD(cuTexObjectCreate(&object, &pitch, &texture, NULL));
    pitch.res.pitch2D.pitchInBytes = 512;
    OK(cuTexObjectCreate(&object, &pitch, &texture, NULL));
    OK(cuTexObjectDestroy(object));
    OK(cuMemFree_v2(memory));
}

/* A mipmapped array has as many levels as were asked for, clamped to its size; they are destroyed with it. */
static void test_mipmaps(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {20, 6, 0, F32, 2, 0}, got;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    CUmipmappedArray mipmap;
    CUarray level;
    BAD(cuMipmappedArrayCreate(NULL, &shape, 1));
    BAD(cuMipmappedArrayCreate(&mipmap, NULL, 1));
    shape.NumChannels = 3;
    BAD(cuMipmappedArrayCreate(&mipmap, &shape, 1));
    shape.NumChannels = 2;
    for (unsigned asked = 0; asked < 8; asked += 3) { /* clamped to 1 ... 5 */
        unsigned levels = asked < 1 ? 1 : asked > 5 ? 5 : asked;
        OK(cuMipmappedArrayCreate(&mipmap, &shape, asked));
        for (unsigned k = 0; k < levels; k++) {
            OK(cuMipmappedArrayGetLevel(&level, mipmap, k));
            OK(cuArray3DGetDescriptor_v2(&got, level));
            CHECK_EQUAL(got.Width, 20 >> k);
            CHECK_EQUAL(got.Height, 6 >> k ? 6 >> k : 1);
            CHECK_EQUAL(got.Depth, 0);
        }
        BAD(cuMipmappedArrayGetLevel(&level, mipmap, levels));
        BAD(cuArrayDestroy(level));
        BAD(cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
        BAD(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
        OK(cuMipmappedArrayDestroy(mipmap));
        CHECK_EQUAL(cuArray3DGetDescriptor_v2(&got, level), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQUAL(cuMipmappedArrayGetLevel(&level, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQUAL(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
    }
}

/* Which layers a view may name, with the results of an H200: a view of a cube map without layers must leave
 * them 0. */
static void test_layers_of_views(void)
{
    static const struct {
        unsigned flags, depth, first, last;
        CUresult expected;
    } cases[] = {
        {CUDA_ARRAY3D_CUBEMAP, 6, 0, 0, CUDA_SUCCESS},
        {CUDA_ARRAY3D_CUBEMAP, 6, 0, 5, CUDA_ERROR_INVALID_VALUE},
        {CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 12, 0, 11, CUDA_SUCCESS},
        {CUDA_ARRAY3D_LAYERED, 3, 0, 2, CUDA_SUCCESS},
        {CUDA_ARRAY3D_LAYERED, 3, 0, 3, CUDA_SUCCESS},
        {CUDA_ARRAY3D_LAYERED, 3, 1, 2, CUDA_ERROR_NOT_SUPPORTED},
        {CUDA_ARRAY3D_LAYERED, 3, 0, 0, CUDA_ERROR_NOT_SUPPORTED},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        CUDA_ARRAY3D_DESCRIPTOR shape = {8, 8, cases[k].depth, F32, 1, cases[k].flags};
        CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                        .width = 8,
                                        .height = 8,
                                        .depth = cases[k].depth,
                                        .firstMipmapLevel = 1,
                                        .lastMipmapLevel = 2,
                                        .firstLayer = cases[k].first,
                                        .lastLayer = cases[k].last};
        CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
        CUDA_TEXTURE_DESC how = {.flags = NORMALIZED};
        CUtexObject object;
        OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &shape, 3));
        CHECK_EQUAL(cuTexObjectCreate(&object, &resource, &how, &view), cases[k].expected);
        if (cases[k].expected == CUDA_SUCCESS) OK(cuTexObjectDestroy(object));
        OK(cuMipmappedArrayDestroy(resource.res.mipmap.hMipmappedArray));
    }
}

static void test_refused_mipmaps(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {16, 8, 0, F32, 1, 0};
    CUDA_TEXTURE_DESC texels = {0}, plain_texture = {.flags = NORMALIZED}, filter = plain_texture;
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                    .width = 16,
                                    .height = 8,
                                    .firstMipmapLevel = 1,
                                    .lastMipmapLevel = 3};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    CUtexObject object;
    OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &shape, 3));
    filter.mipmapFilterMode = 2;
    BAD(cuTexObjectCreate(&object, &resource, &texels, NULL)); /* coordinates must be normalized */
    BAD(cuTexObjectCreate(&object, &resource, &filter, NULL));
    BAD(cuTexObjectCreate(&object, &resource, &plain_texture, &view)); /* no such level */
    view.lastMipmapLevel = 0;
    BAD(cuTexObjectCreate(&object, &resource, &plain_texture, &view));
    view.lastMipmapLevel = 2;
    OK(cuTexObjectCreate(&object, &resource, &plain_texture, &view));
    OK(cuTexObjectDestroy(object));
    view.lastLayer = 1;
    BAD(cuTexObjectCreate(&object, &resource, &plain_texture, &view)); /* no layers */
    view.lastLayer = 0;
    view.format = CU_RES_VIEW_FORMAT_UINT_1X8;
    CHECK_EQUAL(cuTexObjectCreate(&object, &resource, &plain_texture, &view), CUDA_ERROR_NOT_SUPPORTED);
    view.format = CU_RES_VIEW_FORMAT_NONE;
    BAD(cuTexObjectCreate(&object, &resource, &plain_texture, &view));
    OK(cuMipmappedArrayDestroy(resource.res.mipmap.hMipmappedArray));
    CHECK_EQUAL(cuTexObjectCreate(&object, &resource, &plain_texture, NULL), CUDA_ERROR_INVALID_HANDLE);
}

/* Uses of texture references that are refused when the module is loaded, with the reason in its log. */
static void test_refused_references(void)
{
    static const struct {
        const char *declaration, *instruction, *message;
    } cases[] = {
        {".global .samplerref s;\n.global .texref t;",
         "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, s, {%f0,%f0}];",
         "samplers apart from textures (.samplerref) are not supported"},
        {".global .texref t[2];", "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f0,%f0}];",
         "arrays of texture and surface references"},
        {".global .surfref t;", "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f0,%f0}];",
         "a .texref variable of .global"},
        {".global .texref t;", "suld.b.1d.b32.trap {%r1}, [t, {%r0}];", "a .surfref variable of .global"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CUmodule module;
        char source[1024], log[1024] = "";
        int options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[2] = {log, (void *)sizeof log};
        snprintf(source, sizeof source,
                 ".version 7.5\n.target sm_75\n.address_size 64\n%s\n.visible .entry k()\n{\n"
                 ".reg .f32 %%f<5>;\n.reg .b32 %%r<2>;\nmov.f32 %%f0, 0f00000000;\nmov.b32 %%r0, "
                 "0;\n%s\nret;\n}\n",
                 cases[k].declaration, cases[k].instruction);
        CHECK_EQUAL(cuModuleLoadDataEx(&module, source, 2, (CUjit_option *)options, values),
                    CUDA_ERROR_INVALID_PTX);
        CHECK(strstr(log, cases[k].message));
        if (!strstr(log, cases[k].message)) printf("%s\n", log);
    }
}

/* Odd lanes use texture b, even lanes texture a, under the guard that the lane is below 20; three results are
 * unused, and the predicate (whether the texel is resident) adds 100. */
static const char mixed_source[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out)\n{\n"
    ".reg .b64 %a, %b, %h, %o, %i;\n.reg .b32 %t, %odd;\n.reg .f32 %x, %f;\n.reg .pred %p, %q, %r;\n"
    "ld.param.u64 %a, [a];\nld.param.u64 %b, [b];\nld.param.u64 %o, [out];\n"
    "mov.u32 %t, %tid.x;\nand.b32 %odd, %t, 1;\nsetp.eq.u32 %p, %odd, 1;\nselp.b64 %h, %b, %a, %p;\n"
    "setp.lt.u32 %q, %t, 20;\nmov.f32 %f, 0fBF800000;\nmov.f32 %x, 0f40600000;\nsetp.ne.u32 %r, %t, %t;\n"
    "@%q tex.2d.v4.f32.f32 {%f, _, _, _}|%r, [%h, {%x, %x}];\n"
    "@%r add.f32 %f, %f, 0f42C80000;\n"
    "mul.wide.u32 %i, %t, 4;\nadd.u64 %o, %o, %i;\nst.global.f32 [%o], %f;\nret;\n}\n";

/* A texture of an array whose rows of 16 numbers count up from `first`. */
static CUtexObject make_counting(float first)
{
    float data[8 * 16];
    CUarray array = make_array(0);
    for (int k = 0; k < 128; k++) data[k] = first + (float)k;
    OK(texture_copy(&plain, array, data, true));
    CUDA_RESOURCE_DESC resource = resource_of(array);
    CUDA_TEXTURE_DESC texture = {0};
    CUtexObject object = 0;
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    return object;
}

static void test_mixed_handles(void)
{
    CUtexObject a = make_counting(1000), b = make_counting(5000);
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    float host[32];
    OK(cuModuleLoadData(&module, mixed_source));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc_v2(&out, sizeof host));
    void *arguments[] = {&a, &b, &out};
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH_v2(host, out, sizeof host));
    for (int k = 0; k < 32; k++) /* texel (3, 3) + 100; -1 was there before */
        CHECK_EQUAL(host[k], k >= 20 ? -1 : (k % 2 ? 5000 : 1000) + 3 * 16 + 3 + 100);
    OK(cuModuleUnload(module));
    OK(cuMemFree_v2(out));
    OK(cuTexObjectDestroy(a));
    OK(cuTexObjectDestroy(b));
}

/* --- faults: each breaks its context, so each has one of its own -------------------------------------- */

/* Runs the kernel of the case on a handle with the same value for every operand; returns the result. */
static CUresult run_kernel(const TextureCase *c, uint64_t handle, uint32_t operand)
{
    TextureRun run = {.object = handle};
    static uint32_t words[TEXTURE_SAMPLES * 8];
    for (unsigned k = 0; k < TEXTURE_SAMPLES * 8; k++) words[k] = operand;
    OK(cuMemAlloc_v2(&run.in, sizeof words));
    OK(cuMemAlloc_v2(&run.out, TEXTURE_BYTES));
    OK(cuMemcpyHtoD_v2(run.in, words, sizeof words));
    return texture_launch(&run, c);
}

static CUcontext begin(void)
{
    CUcontext context;
    OK(cuCtxCreate_v2(&context, 0, 0));
    return context;
}

static CUtexObject make_texture(CUarray array)
{
    CUDA_RESOURCE_DESC resource = resource_of(array);
    CUDA_TEXTURE_DESC texture = {0};
    CUtexObject object = 0;
    OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    return object;
}

static void test_dead_objects(void)
{
    enum { NULL_HANDLE, DESTROYED_OBJECT, DESTROYED_ARRAY, ARBITRARY_HANDLE, ALIVE, CASES };
    for (int which = 0; which < CASES; which++) {
        CUcontext context = begin();
        CUarray array = make_array(0);
        CUtexObject object = make_texture(array);
        if (which == DESTROYED_OBJECT) OK(cuTexObjectDestroy(object));
        if (which == DESTROYED_ARRAY) OK(cuArrayDestroy(array));
        uint64_t handle = which == NULL_HANDLE        ? 0
                          : which == ARBITRARY_HANDLE ? UINT64_C(0x123456789)
                                                      : object;
        CHECK_EQUAL(run_kernel(&plain, handle, 0),
                    which == ALIVE ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
        OK(cuCtxDestroy_v2(context));
    }
}

/* An instruction for another dimension than the texture's is a fault. */
static void test_wrong_dimension(void)
{
    static const char *const ops[] = {"tex.1d.v4.f32.f32", "tex.3d.v4.f32.f32", "tex.a2d.v4.f32.f32"};
    static const Geometry geometries[] = {G_1D, G_3D, G_A2D};
    for (int k = 0; k < 3; k++) {
        CUcontext context = begin();
        TextureCase c = plain;
        memcpy(c.op, ops[k], strlen(ops[k]) + 1);
        c.geometry = geometries[k];
        CHECK_EQUAL(run_kernel(&c, make_texture(make_array(0)), 0), CUDA_ERROR_LAUNCH_FAILED);
        OK(cuCtxDestroy_v2(context));
    }
}

/* A surface: inside, outside with .trap, outside with .zero, misaligned, and a texture's handle. */
static void test_surface_faults(void)
{
    static const struct {
        const char *op;
        uint32_t operand;
        CUresult result;
    } uses[] = {
        {"suld.b.2d.b32.trap", 4, CUDA_SUCCESS},
        {"suld.b.2d.b32.trap", 64, CUDA_ERROR_ILLEGAL_ADDRESS},
        {"sust.b.2d.b32.trap", (uint32_t)-4, CUDA_ERROR_ILLEGAL_ADDRESS},
        {"suld.b.2d.b32.zero", 64, CUDA_SUCCESS},
        {"suld.b.2d.b32.trap", 2, CUDA_ERROR_MISALIGNED_ADDRESS},
        {"suld.b.2d.b32.trap", 5, CUDA_ERROR_MISALIGNED_ADDRESS},
    };
    for (unsigned k = 0; k < sizeof uses / sizeof *uses; k++) {
        CUcontext context = begin();
        CUDA_RESOURCE_DESC resource = resource_of(make_array(CUDA_ARRAY3D_SURFACE_LDST));
        TextureCase c = plain;
        CUsurfObject object = 0;
        memcpy(c.op, uses[k].op, strlen(uses[k].op) + 1);
        OK(cuSurfObjectCreate(&object, &resource));
        CHECK_EQUAL(run_kernel(&c, object, uses[k].operand), uses[k].result);
        OK(cuCtxDestroy_v2(context));
    }
    CUcontext context = begin();
    TextureCase c = plain;
    memcpy(c.op, "suld.b.2d.b32.zero", 19);
    CHECK_EQUAL(run_kernel(&c, make_texture(make_array(CUDA_ARRAY3D_SURFACE_LDST)), 0),
                CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(test_getters);
    CHECK_GROUP(test_refused_textures);
    CHECK_GROUP(test_refused_memory);
    CHECK_GROUP(test_mipmaps);
    CHECK_GROUP(test_layers_of_views);
    CHECK_GROUP(test_refused_mipmaps);
    CHECK_GROUP(test_refused_references);
    CHECK_GROUP(test_mixed_handles);
    CHECK_GROUP(test_dead_objects);
    CHECK_GROUP(test_wrong_dimension);
    CHECK_GROUP(test_surface_faults);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
