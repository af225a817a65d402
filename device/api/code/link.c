/* Linking: several PTX texts are checked one by one and joined to an image that loads as one module. */
#include <stdlib.h>

#include "api/code/module.h"
#include "api/code/runtime_library.h"
#include "api/code/text_link.h"

struct CUlinkState_st {
    Object object;
    JitOptions options;
    pthread_mutex_t lock;
    TextLink link; /* its image is read by the caller of cuLinkComplete */
};

static void linker_release(Object *object)
{
    Linker *linker = (Linker *)object;
    text_link_end(&linker->link);
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
    text_link_begin(&linker->link, &(PtxOptions){.chunks = driver_chunks()}, &read.code);
    pthread_mutex_init(&linker->lock, NULL);
    CUresult result = object_publish(OBJECT(linker));
    if (!result) *out = linker;
    PUT(linker);
    return result;
}

/* Whether inputs of that type are PTX, or may be: links and compilers on the CPU device return PTX as
 * cubins. */
static bool may_be_ptx(CUjitInputType type)
{
    return type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN;
}

static CUresult add_input(Linker *linker, CUjitInputType type, const char *data, size_t size,
                          const char *name)
{
    PtxLog log = {0};
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (may_be_ptx(type) || (type == CU_JIT_INPUT_LIBRARY && runtime_library_is(data, size)))
        result = text_link_add(&linker->link, data, size, name, driver_settings()->capability, &log);
    else
        ptx_log_append(&log,
                       "'%s' cannot be linked: the CPU device takes PTX, fat binaries that hold PTX, and "
                       "libcudadevrt.a\n",
                       name ? name : "");
    if (result) jit_options_answer(&linker->options, result, &log);
    ptx_log_free(&log);
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

/* Makes the image, and loads it once to find out whether its parts fit together. */
static CUresult complete_locked(Linker *linker)
{
    Image image;
    PtxLog log = {0};
    Module *module;
    TRY(text_link_join(&linker->link));
    CUresult result =
        image_open(linker->link.image, linker->link.image_size, driver_settings()->capability, &image, &log);
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
        *image = linker->link.image;
        if (size) *size = linker->link.image_size;
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
