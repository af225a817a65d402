/* Runs a case of texture_cases.h on the driver that is linked: builds a kernel of one instruction as PTX text
 * and the texture or surface (an object, or bound to a reference of the module), runs all samples and returns
 * four words of each; for stores, the first bytes of the surface. The file that includes this declares the
 * driver's functions. */
#ifndef TESTS_TEXTURE_RUN_H
#define TESTS_TEXTURE_RUN_H

#include "texture_cases.h"

#include <stdlib.h>

#define TRY_CU(call) \
    do { \
        CUresult code_ = (call); \
        if (code_) return code_; \
    } while (0)

/* What a case needs: its texels as an array, or as memory with rows `pitch` bytes apart; operands and results
 * of the samples; the object, where cases run with objects. */
typedef struct TextureRun {
    CUarray array;
    CUdeviceptr memory, in, out;
    uint64_t object;
    size_t pitch;
    CUmodule module;
} TextureRun;

/* --- the kernel --------------------------------------------------------------------------------------- */

/* The operand with the coordinates, from registers %r0 ... of the sample. */
static const char *texture_coordinates(const TextureCase *c)
{
    static const char *const texture[G_COUNT] = {
        [G_LINEAR] = "{%r0}",          [G_PITCH] = "{%r0,%r1}",        [G_1D] = "{%r0}",
        [G_2D] = "{%r0,%r1}",          [G_3D] = "{%r0,%r1,%r2,%r2}",   [G_A1D] = "{%r0,%r1}",
        [G_A2D] = "{%r0,%r1,%r2,%r2}", [G_CUBE] = "{%r0,%r1,%r2,%r2}", [G_ACUBE] = "{%r0,%r1,%r2,%r3}",
    };
    return texture[c->geometry];
}

/* The operand with the values, such as "{%h0,%h1}", as wide as the instruction says, and the code that
 * converts between these registers and %w0 to %w3. */
static inline void texture_values(const char *op, bool store, char vector[64], char *code)
{
    unsigned count = strstr(op, ".v4") ? 4 : strstr(op, ".v2") ? 2 : 1, room = 512;
    unsigned bits = strstr(op, ".b64") ? 64 : strstr(op, ".b32") || !strstr(op, ".b") ? 32 : 16;
    char *at = vector;
    if (!strncmp(op, "sust.p", 6)) bits = 32;
    if (!strncmp(op, "tex", 3) || !strncmp(op, "tld4", 4)) bits = 32, count = 4;
    *code = '\0';
    at += sprintf(at, "%s", count > 1 ? "{" : "");
    for (unsigned v = 0; v < count; v++) {
        const char *name = bits == 64 ? "%d" : bits == 32 ? "%w" : "%h";
        at += sprintf(at, "%s%s%u", v ? "," : "", name, v);
        size_t used = strlen(code);
        if (bits == 64 && store)
            snprintf(code + used, room - used, "mov.b64 %%d%u, {%%w%u,%%w%u};\n", v, 2 * v, 2 * v + 1);
        else if (bits == 64)
            snprintf(code + used, room - used, "mov.b64 {%%w%u,%%w%u}, %%d%u;\n", 2 * v, 2 * v + 1, v);
        else if (bits == 16)
            snprintf(code + used, room - used,
                     store ? "cvt.u16.u32 %%h%u, %%w%u;\n" : "cvt.u32.u16 %%w%2$u, %%h%1$u;\n", v, v);
    }
    sprintf(at, "%s", count > 1 ? "}" : "");
}

/* Whether cases run with references: .texref and .surfref variables. */
static bool texture_by_reference;

static inline void texture_instruction(const TextureCase *c, char *text, size_t size)
{
    const char *name = texture_by_reference ? "reference" : "%object";
    static const char *const grads[G_COUNT] = {[G_1D] = ", {%g0}, {%g1}",
                                               [G_2D] = ", {%g0,%g0}, {%g1,%g1}",
                                               [G_3D] = ", {%g0,%g0,%g0,%g0}, {%g1,%g1,%g1,%g1}",
                                               [G_A1D] = ", {%g0}, {%g1}",
                                               [G_A2D] = ", {%g0,%g0}, {%g1,%g1}"};
    char vector[64], code[512];
    bool store = texture_is(c, "sust"), query = texture_is(c, "txq") || texture_is(c, "suq");
    texture_values(c->op, store, vector, code);
    const char *extra = strstr(c->op, ".level") ? ", %g0" : strstr(c->op, ".grad") ? grads[c->geometry] : "";
    if (query)
        snprintf(text, size, "%s %%w0, [%s];\n", c->op, name);
    else if (store)
        snprintf(text, size, "%s%s [%s, %s], %s;\n", code, c->op, name, texture_coordinates(c), vector);
    else
        snprintf(text, size, "%s %s, [%s, %s]%s;\n%s", c->op, vector, name, texture_coordinates(c), extra,
                 code);
}

static inline void texture_kernel(const TextureCase *c, char *text, size_t size)
{
    char body[1024];
    texture_instruction(c, body, sizeof body);
    snprintf(text, size,
             ".version 7.5\n.target sm_75\n.address_size 64\n.global .%s reference;\n"
             ".visible .entry k(.param .u64 object, .param .u64 in, .param .u64 out)\n{\n"
             ".reg .b64 %%object, %%p<4>, %%d<4>;\n.reg .b32 %%r<4>, %%w<8>, %%t<4>;\n.reg .b16 %%h<4>;\n"
             ".reg .f32 %%g<2>;\n"
             "mov.f32 %%g0, 0f00000000;\nmov.f32 %%g1, 0f3A800000;\n"
             "ld.param.u64 %%object, [object];\nld.param.u64 %%p0, [in];\nld.param.u64 %%p1, [out];\n"
             "mov.u32 %%t0, %%tid.x;\nmov.u32 %%t1, %%ctaid.x;\nmov.u32 %%t2, %%ntid.x;\n"
             "mad.lo.u32 %%t0, %%t1, %%t2, %%t0;\n"
             "mul.wide.u32 %%p2, %%t0, 32;\nadd.u64 %%p0, %%p0, %%p2;\n"
             "mul.wide.u32 %%p2, %%t0, 16;\nadd.u64 %%p1, %%p1, %%p2;\n"
             "ld.global.v4.b32 {%%r0,%%r1,%%r2,%%r3}, [%%p0];\n"
             "ld.global.v4.b32 {%%w0,%%w1,%%w2,%%w3}, [%%p0+16];\n"
             "%s"
             "st.global.v4.b32 [%%p1], {%%w0,%%w1,%%w2,%%w3};\nret;\n}\n",
             texture_is(c, "su") ? "surfref" : "texref", body);
}

/* --- the texture or surface --------------------------------------------------------------------------- */

/* Whether the case is of a surface. */
static inline bool texture_surface(const TextureCase *c) { return texture_is(c, "su"); }

/* Copies the whole content into or out of the array. */
static inline CUresult texture_copy(const TextureCase *c, CUarray array, void *host, bool in)
{
    size_t row = (size_t)c->size[0] * texture_element_bytes(c);
    CUDA_MEMCPY3D copy = {.WidthInBytes = row, .Height = texture_axis(c, 1), .Depth = texture_axis(c, 2)};
    copy.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.dstHost = host;
    copy.srcArray = copy.dstArray = array;
    copy.srcPitch = copy.dstPitch = row;
    copy.srcHeight = copy.dstHeight = copy.Height;
    return cuMemcpy3D_v2(&copy);
}

static inline CUresult texture_make_array(TextureRun *run, const TextureCase *c, uint8_t *data)
{
    bool layered = c->geometry == G_A1D || c->geometry == G_A2D || c->geometry == G_ACUBE;
    bool cube = c->geometry == G_CUBE || c->geometry == G_ACUBE;
    CUDA_ARRAY3D_DESCRIPTOR shape = {c->size[0], c->size[1], c->size[2], c->format, c->channels, 0};
    if (layered) shape.Flags |= CUDA_ARRAY3D_LAYERED;
    if (cube) shape.Flags |= CUDA_ARRAY3D_CUBEMAP;
    if (texture_surface(c)) shape.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    if (texture_is(c, "tld4")) shape.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    TRY_CU(cuArray3DCreate_v2(&run->array, &shape));
    return texture_copy(c, run->array, data, true);
}

static inline CUresult texture_make_memory(TextureRun *run, const TextureCase *c, const uint8_t *data)
{
    size_t row = (size_t)c->size[0] * texture_element_bytes(c);
    run->pitch = (row + 511) / 512 * 512;
    TRY_CU(cuMemAlloc_v2(&run->memory, run->pitch * texture_axis(c, 1)));
    for (unsigned y = 0; y < texture_axis(c, 1); y++)
        TRY_CU(cuMemcpyHtoD_v2(run->memory + y * run->pitch, data + y * row, row));
    return CUDA_SUCCESS;
}

static inline CUDA_RESOURCE_DESC texture_resource(const TextureRun *run, const TextureCase *c)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    resource.res.array.hArray = run->array;
    if (c->geometry == G_LINEAR) {
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        resource.res.linear.devPtr = run->memory;
        resource.res.linear.format = c->format;
        resource.res.linear.numChannels = c->channels;
        resource.res.linear.sizeInBytes = (size_t)c->size[0] * texture_element_bytes(c);
    } else if (c->geometry == G_PITCH) {
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D.devPtr = run->memory;
        resource.res.pitch2D.format = c->format;
        resource.res.pitch2D.numChannels = c->channels;
        resource.res.pitch2D.width = c->size[0];
        resource.res.pitch2D.height = c->size[1];
        resource.res.pitch2D.pitchInBytes = run->pitch;
    }
    return resource;
}

static inline CUresult texture_make_object(TextureRun *run, const TextureCase *c)
{
    CUDA_RESOURCE_DESC resource = texture_resource(run, c);
    CUDA_TEXTURE_DESC texture = {.addressMode = {c->address[0], c->address[1], c->address[2]},
                                 .filterMode = c->filter,
                                 .flags = c->flags,
                                 .borderColor = {0.25f, 0.7f, -1.5f, 3}};
    unsigned long long object;
    CUresult result = texture_surface(c) ? cuSurfObjectCreate(&object, &resource)
                                         : cuTexObjectCreate(&object, &resource, &texture, NULL);
    run->object = object;
    return result;
}

/* Like texture_make_object(), for the reference of the module. */
static inline CUresult texture_bind_reference(TextureRun *run, const TextureCase *c)
{
    CUDA_ARRAY_DESCRIPTOR rows = {c->size[0], c->size[1], c->format, c->channels};
    float border[4] = {0.25f, 0.7f, -1.5f, 3};
    size_t offset;
    CUsurfref surface;
    CUtexref t;
    if (texture_surface(c)) {
        TRY_CU(cuModuleGetSurfRef(&surface, run->module, "reference"));
        return cuSurfRefSetArray(surface, run->array, 0);
    }
    TRY_CU(cuModuleGetTexRef(&t, run->module, "reference"));
    for (int k = 0; k < 3; k++) TRY_CU(cuTexRefSetAddressMode(t, k, c->address[k]));
    TRY_CU(cuTexRefSetFilterMode(t, c->filter));
    TRY_CU(cuTexRefSetFlags(t, c->flags));
    TRY_CU(cuTexRefSetBorderColor(t, border));
    TRY_CU(cuTexRefSetFormat(t, c->format, (int)c->channels));
    if (c->geometry == G_PITCH) return cuTexRefSetAddress2D_v3(t, &rows, run->memory, run->pitch);
    if (c->geometry == G_LINEAR)
        return cuTexRefSetAddress_v2(&offset, t, run->memory, (size_t)c->size[0] * texture_element_bytes(c));
    return cuTexRefSetArray(t, run->array, 0);
}

/* --- running ------------------------------------------------------------------------------------------ */

static uint8_t texture_data[1 << 16];
static uint32_t texture_words[TEXTURE_SAMPLES * 8];

static inline CUresult texture_launch(TextureRun *run, const TextureCase *c)
{
    char text[4096];
    CUfunction function;
    texture_kernel(c, text, sizeof text);
    TRY_CU(cuModuleLoadData(&run->module, text));
    if (texture_by_reference) TRY_CU(texture_bind_reference(run, c));
    TRY_CU(cuModuleGetFunction(&function, run->module, "k"));
    void *arguments[] = {&run->object, &run->in, &run->out};
    TRY_CU(cuLaunchKernel(function, TEXTURE_SAMPLES / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    return cuCtxSynchronize();
}

static inline CUresult texture_steps(TextureRun *run, const TextureCase *c, uint32_t *results)
{
    bool memory = c->geometry == G_LINEAR || c->geometry == G_PITCH;
    memset(texture_data, 0, sizeof texture_data);
    texture_fill(c, texture_data);
    texture_inputs(c, texture_words);
    TRY_CU(memory ? texture_make_memory(run, c, texture_data) : texture_make_array(run, c, texture_data));
    if (!texture_by_reference) TRY_CU(texture_make_object(run, c));
    TRY_CU(cuMemAlloc_v2(&run->in, sizeof texture_words));
    TRY_CU(cuMemAlloc_v2(&run->out, TEXTURE_BYTES));
    TRY_CU(cuMemcpyHtoD_v2(run->in, texture_words, sizeof texture_words));
    TRY_CU(texture_launch(run, c));
    TRY_CU(cuMemcpyDtoH_v2(results, run->out, TEXTURE_BYTES));
    if (!texture_is(c, "sust")) return CUDA_SUCCESS;
    TRY_CU(texture_copy(c, run->array, texture_data, false));
    memcpy(results, texture_data, TEXTURE_BYTES);
    return CUDA_SUCCESS;
}

/* Runs a case; results has TEXTURE_BYTES. Returns the error of the first call that failed. */
static inline CUresult texture_run(const TextureCase *c, uint32_t *results)
{
    TextureRun run = {0};
    CUresult result = texture_steps(&run, c, results);
    if (run.object && texture_surface(c)) cuSurfObjectDestroy(run.object);
    if (run.object && !texture_surface(c)) cuTexObjectDestroy(run.object);
    if (run.module) cuModuleUnload(run.module);
    if (run.array) cuArrayDestroy(run.array);
    if (run.memory) cuMemFree_v2(run.memory);
    if (run.in) cuMemFree_v2(run.in);
    if (run.out) cuMemFree_v2(run.out);
    return result;
}

#endif
