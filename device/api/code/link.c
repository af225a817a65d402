/* Linking: several PTX texts are checked one by one and joined to an image that loads as one module. */
#include <stdlib.h>
#include <string.h>

#include "api/code/module.h"
#include "api/code/runtime_library.h"

struct CUlinkState_st {
    Object object;
    JitOptions options;
    pthread_mutex_t lock;
    Image added;                    /* its parts are owned: copies as copy_part() makes them */
    PtxModule *trees[IMAGE_MAX_PARTS]; /* owned: one for each part, with which a new part must fit together */
    void *image; /* owned; made by cuLinkComplete, and read by its caller */
    size_t image_size;
};

static void linker_release(Object *object)
{
    Linker *linker = (Linker *)object;
    for (unsigned i = 0; i < linker->added.count; i++) {
        free((void *)(uintptr_t)linker->added.parts[i].text);
        ptx_module_free(linker->trees[i]);
    }
    free(linker->image);
    pthread_mutex_destroy(&linker->lock);
}

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *out)
{
    Context *context;
    JitOptions read;
    TRY(context_enter(&context));
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(jit_options_read(&read, count, options, values));
    Linker *linker = object_new(OBJECT_LINKER, sizeof *linker, context, linker_release);
    if (!linker) return CUDA_ERROR_OUT_OF_MEMORY;
    linker->options = read;
    linker->added.linked = true;
    linker->added.options = read.code;
    pthread_mutex_init(&linker->lock, NULL);
    CUresult result = object_publish(OBJECT(linker));
    if (!result) *out = linker;
    PUT(linker);
    return result;
}

/* A copy of the part, to be freed: text, NUL, name, NUL. NULL if out of memory. */
static char *copy_part(const ImagePart *part, const char *name)
{
    size_t name_size = strlen(name) + 1;
    char *copy = malloc(part->length + 1 + name_size);
    if (!copy) return NULL;
    memcpy(copy, part->text, part->length);
    copy[part->length] = '\0';
    memcpy(copy + part->length + 1, name, name_size);
    return copy;
}

/* Parses a copy of the part, checks it against those that were added before, and adds it. */
static CUresult add_part_locked(Linker *linker, const ImagePart *part, const char *name, PtxLog *log)
{
    unsigned count = linker->added.count;
    if (linker->image || count == IMAGE_MAX_PARTS) return CUDA_ERROR_INVALID_VALUE;
    char *copy = copy_part(part, name ? name : "");
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    PtxOptions options = {.name = name ? copy + part->length + 1 : NULL, .chunks = driver_chunks()};
    PtxModule *tree = linker->trees[count] = ptx_parse(copy, part->length, &options, log);
    if (tree && ptx_link_fits(linker->trees, count + 1, log)) {
        linker->added.parts[linker->added.count++] = (ImagePart){copy, part->length, copy + part->length + 1};
        return CUDA_SUCCESS;
    }
    linker->trees[count] = NULL;
    ptx_module_free(tree);
    free(copy);
    return module_result(log);
}

/* Adds PTX, alone or in a fat binary. The device runtime's library is accepted and not added, as it is built
 * in. Nothing else can be linked. */
static CUresult add_input(Linker *linker, CUjitInputType type, const char *data, size_t size,
                          const char *name)
{
    Image image;
    PtxLog log = {0};
    bool fits = type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY;
    if (type == CU_JIT_INPUT_LIBRARY && runtime_library_is(data, size)) return CUDA_SUCCESS;
    if (!fits)
        ptx_log_append(&log,
                       "'%s' cannot be linked: the CPU device takes PTX, fat binaries that hold PTX, and "
                       "libcudadevrt.a\n",
                       name ? name : "");
    CUresult result = fits ? image_open(data, size, driver_settings()->capability, &image, &log)
                           : CUDA_ERROR_NO_BINARY_FOR_GPU;
    for (unsigned p = 0; !result && p < image.count; p++)
        result = add_part_locked(linker, &image.parts[p], name, &log);
    if (result) jit_options_answer(&linker->options, result, &log);
    ptx_log_free(&log);
    if (fits) image_close(&image);
    return result;
}

static CUresult linker_enter(CUlinkState handle, Linker **out)
{
    Context *context;
    TRY(context_enter(&context));
    *out = object_get(handle, OBJECT_LINKER);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t size, const char *name,
                          unsigned int count, CUjit_option *options, void **values)
{
    Linker *linker;
    JitOptions ignored;
    if (!data || !size) return CUDA_ERROR_INVALID_VALUE;
    TRY(jit_options_read(&ignored, count, options, values));
    TRY(linker_enter(handle, &linker));
    pthread_mutex_lock(&linker->lock);
    CUresult result = add_input(linker, type, data, size, name);
    pthread_mutex_unlock(&linker->lock);
    PUT(linker);
    return result;
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path, unsigned int count,
                          CUjit_option *options, void **values)
{
    char *data;
    size_t size;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    TRY(image_read_file(path, &data, &size));
    CUresult result = cuLinkAddData_v2(handle, type, data, size, path, count, options, values);
    free(data);
    return result;
}

/* A link without input gives an empty module, as with NVIDIA's driver. */
static const char no_code[] = ".version 6.0\n.target sm_50\n.address_size 64\n";
static const Image nothing = {.parts = {{no_code, sizeof no_code - 1, NULL}}, .count = 1, .linked = true};

/* Makes the image, and loads it once to find out whether its parts fit together. */
static CUresult complete_locked(Linker *linker)
{
    Image image;
    PtxLog log = {0};
    Module *module;
    if (!linker->image)
        linker->image = image_join(linker->added.count ? &linker->added : &nothing, &linker->image_size);
    if (!linker->image) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        image_open(linker->image, linker->image_size, driver_settings()->capability, &image, &log);
    if (!result) result = module_load(linker->object.context, &image, NULL, &log, &module);
    jit_options_answer(&linker->options, result, &log);
    ptx_log_free(&log);
    image_close(&image);
    if (result) return result;
    module_unload(module);
    PUT(module);
    return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState handle, void **image, size_t *size)
{
    Linker *linker;
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    TRY(linker_enter(handle, &linker));
    pthread_mutex_lock(&linker->lock);
    CUresult result = complete_locked(linker);
    if (!result) {
        *image = linker->image;
        if (size) *size = linker->image_size;
    }
    pthread_mutex_unlock(&linker->lock);
    PUT(linker);
    return result;
}

CUresult cuLinkDestroy(CUlinkState handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    Linker *linker = object_get(handle, OBJECT_LINKER);
    if (!linker) return CUDA_ERROR_INVALID_HANDLE;
    bool mine = object_retire(OBJECT(linker));
    PUT(linker);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
