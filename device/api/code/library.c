/* Libraries: images that belong to no context. Their kernels become functions of a context at the first use
 * there. */
#include <stdlib.h>
#include <string.h>

#include "api/code/module.h"
#include "api/stream/queue.h"

typedef struct CUkern_st {
    Object object;
    Library *library;      /* a reference */
    const char *name;      /* one of the library's names, which owns it */
} Kernel;

struct CUlib_st {
    Object object;
    char *data;            /* its PTX texts, as image_join() makes them */
    size_t size;
    Kernel **kernels;      /* handles: the registry's references end with library_unload() */
    char **names;          /* of the kernels, in their order; owned */
    unsigned kernel_count;
    pthread_mutex_t lock;  /* for the instances */
    Module **instances;    /* the library's module in each context that uses it, a reference each */
    size_t instance_count;
};

static void library_release(Object *object)
{
    Library *library = (Library *)object;
    for (size_t i = 0; i < library->instance_count; i++) PUT(library->instances[i]);
    for (unsigned k = 0; k < library->kernel_count; k++) free(library->names[k]);
    free(library->names);
    free(library->kernels);
    free(library->instances);
    free(library->data);
    pthread_mutex_destroy(&library->lock);
}

static void kernel_release(Object *object) { PUT(((Kernel *)object)->library); }

/* Makes and publishes the handle of a kernel. */
static CUresult add_kernel(Library *library, const char *name)
{
    size_t count = library->kernel_count + 1;
    char **names = realloc(library->names, count * sizeof *names);
    if (!names) return CUDA_ERROR_OUT_OF_MEMORY;
    library->names = names;
    Kernel **kernels = realloc(library->kernels, count * sizeof(Kernel *));
    if (!kernels) return CUDA_ERROR_OUT_OF_MEMORY;
    library->kernels = kernels;
    char *copy = strdup(name);
    Kernel *kernel = copy ? object_new(OBJECT_KERNEL, sizeof *kernel, NULL, kernel_release) : NULL;
    if (!kernel) {
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_hold(OBJECT(library));
    kernel->library = library;
    kernel->name = copy;
    names[count - 1] = copy;
    kernels[count - 1] = kernel;
    library->kernel_count = (unsigned)count;
    CUresult result = object_publish(OBJECT(kernel));
    PUT(kernel);
    if (result) library->kernels[count - 1] = NULL;
    return result;
}

/* Parses the parts for the names of their kernels. */
static CUresult find_kernels(Library *library, const Image *image, PtxLog *log)
{
    CUresult result = CUDA_SUCCESS;
    PtxOptions options = {.chunks = driver_chunks()};
    for (unsigned p = 0; p < image->count && !result; p++) {
        PtxModule *tree = ptx_parse(image->parts[p].text, image->parts[p].length, &options, log);
        if (!tree) return CUDA_ERROR_INVALID_PTX;
        for (uint32_t f = 0; f < tree->function_count && !result; f++)
            if (tree->functions[f]->is_entry && tree->functions[f]->defined)
                result = add_kernel(library, tree->functions[f]->name);
        ptx_module_free(tree);
    }
    return result;
}

/* Takes the library, its kernels and its modules out of the registry, after the work of their contexts. False
 * if another thread has taken the library out. */
static bool library_unload(Library *library)
{
    bool mine = object_retire(OBJECT(library));
    for (unsigned k = 0; k < library->kernel_count; k++) {
        Kernel *kernel = object_get(library->kernels[k], OBJECT_KERNEL);
        if (!kernel) continue;
        object_retire(OBJECT(kernel));
        PUT(kernel);
    }
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->instance_count; i++) {
        if (object_context_is_live(OBJECT(library->instances[i])))
            queue_wait_context_despite_capture(library->instances[i]->object.context);
        module_unload(library->instances[i]);
    }
    pthread_mutex_unlock(&library->lock);
    return mine;
}

static CUresult load_library(CUlibrary *out, const void *data, size_t limit, unsigned count,
                             const CUjit_option *names, void **values)
{
    JitOptions options;
    Image image;
    PtxLog log = {0};
    TRY(driver_check());
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    TRY(jit_options_read(&options, count, names, values));
    Library *library = object_new(OBJECT_LIBRARY, sizeof *library, NULL, library_release);
    if (!library) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&library->lock, NULL);
    CUresult result = image_open(data, limit, driver_settings()->capability, &image, &log);
    if (!image.linked) image.options = options.code;
    if (!result && !(library->data = image_join(&image, &library->size))) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) result = find_kernels(library, &image, &log);
    if (!result) result = object_publish(OBJECT(library));
    jit_options_answer(&options, result, &log);
    ptx_log_free(&log);
    image_close(&image);
    if (result)
        library_unload(library);
    else
        *out = library;
    PUT(library);
    return result;
}

/* Options of libraries change nothing: the code is copied, whether the program preserves it
 * (CU_LIBRARY_BINARY_IS_PRESERVED) or not, and host code has no table of its functions. */
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *options, void **values,
                           unsigned int count, CUlibraryOption *library_options, void **library_values,
                           unsigned int library_count)
{
    if (library_count && (!library_options || !library_values)) return CUDA_ERROR_INVALID_VALUE;
    return load_library(out, code, SIZE_MAX, count, options, values);
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *options, void **values,
                               unsigned int count, CUlibraryOption *library_options, void **library_values,
                               unsigned int library_count)
{
    char *data;
    size_t size;
    TRY(driver_check());
    if (!path || (library_count && (!library_options || !library_values))) return CUDA_ERROR_INVALID_VALUE;
    TRY(image_read_file(path, &data, &size));
    CUresult result = load_library(out, data, size, count, options, values);
    free(data);
    return result;
}

CUresult cuLibraryUnload(CUlibrary handle)
{
    TRY(driver_check());
    Library *library = object_get(handle, OBJECT_LIBRARY);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    bool mine = library_unload(library);
    PUT(library);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Releases the modules whose contexts were closed. */
static void drop_dead_locked(Library *library)
{
    size_t left = 0;
    for (size_t i = 0; i < library->instance_count; i++) {
        Module *module = library->instances[i];
        if (object_context_is_live(OBJECT(module)))
            library->instances[left++] = module;
        else
            PUT(module);
    }
    library->instance_count = left;
}

/* Loads the library's module in the context; *out is a borrowed reference. */
static CUresult instantiate_locked(Library *library, Context *context, Module **out)
{
    Image image;
    PtxLog log = {0};
    drop_dead_locked(library);
    Module **instances = realloc(library->instances, (library->instance_count + 1) * sizeof *instances);
    if (!instances) return CUDA_ERROR_OUT_OF_MEMORY;
    library->instances = instances;
    JitOptions options = {0};
    CUresult result = image_open(library->data, library->size, driver_settings()->capability, &image, &log);
    if (!result) result = module_load(context, &image, library, &log, out);
    jit_options_answer(&options, result, &log);
    ptx_log_free(&log);
    image_close(&image);
    if (!result) instances[library->instance_count++] = *out;
    return result;
}

/* The library's module in the current context, with a reference. */
static CUresult library_module(Library *library, Module **out)
{
    Context *context;
    TRY(context_enter(&context));
    CUresult result = CUDA_SUCCESS;
    *out = NULL;
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->instance_count; i++)
        if (object_is_of(OBJECT(library->instances[i]), context)) *out = library->instances[i];
    if (!*out) result = instantiate_locked(library, context, out);
    if (!result) object_hold(OBJECT(*out));
    pthread_mutex_unlock(&library->lock);
    return result;
}

CUresult kernel_function(const void *handle, Function **out)
{
    Module *module;
    Kernel *kernel = object_get(handle, OBJECT_KERNEL);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = library_module(kernel->library, &module);
    if (!result) {
        *out = object_get(module_function(module, kernel->name), OBJECT_FUNCTION);
        if (!*out) result = CUDA_ERROR_NOT_FOUND;
        PUT(module);
    }
    PUT(kernel);
    return result;
}

static CUresult library_enter(CUlibrary handle, Library **out)
{
    TRY(driver_check());
    *out = object_get(handle, OBJECT_LIBRARY);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
    Library *library;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    CUresult result = CUDA_ERROR_NOT_FOUND;
    for (unsigned k = 0; k < library->kernel_count && result; k++)
        if (!strcmp(library->names[k], name)) {
            *out = library->kernels[k];
            result = CUDA_SUCCESS;
        }
    PUT(library);
    return result;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
    Library *library;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    *count = library->kernel_count;
    PUT(library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary handle)
{
    Library *library;
    if (!kernels) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    for (unsigned k = 0; k < count; k++) kernels[k] = k < library->kernel_count ? library->kernels[k] : NULL;
    PUT(library);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    Library *library;
    Module *module;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    CUresult result = library_module(library, &module);
    if (!result) {
        *out = module;
        PUT(module);
    }
    PUT(library);
    return result;
}

/* A variable of the library's module in the current context, where `managed` only one that the host may use.
 * There is one for each context. */
static CUresult library_variable(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name,
                                 bool managed)
{
    Library *library;
    Module *module = NULL;
    if (!name || (!address && !size)) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    CUresult result = library_module(library, &module);
    const CodeGlobal *global = result ? NULL : module_global(module, name);
    if (!result && (!global || (managed && !global->is_managed))) result = CUDA_ERROR_NOT_FOUND;
    if (!result && address) *address = global->address;
    if (!result && size) *size = global->size;
    if (module) PUT(module);
    PUT(library);
    return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
    return library_variable(address, size, handle, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
    return library_variable(address, size, handle, name, true);
}

/* PTX has no functions that the host may call: none is ever found. */
CUresult cuLibraryGetUnifiedFunction(void **function, CUlibrary handle, const char *symbol)
{
    Library *library;
    if (!function || !symbol) return CUDA_ERROR_INVALID_VALUE;
    TRY(library_enter(handle, &library));
    PUT(library);
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult kernel_enter(CUkernel handle, Kernel **out)
{
    TRY(driver_check());
    *out = object_get(handle, OBJECT_KERNEL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
    Kernel *kernel;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(kernel_enter(handle, &kernel));
    *out = kernel->library;
    PUT(kernel);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel handle)
{
    Kernel *kernel;
    TRY(driver_check());
    if (!name || !handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(kernel_enter(handle, &kernel));
    *name = kernel->name;
    PUT(kernel);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
    Function *function;
    TRY(driver_check());
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    TRY(kernel_function(handle, &function));
    *out = function;
    PUT(function);
    return CUDA_SUCCESS;
}

/* All devices are alike, so `device` is only checked, here and in cuKernelSetAttribute. The settings are
 * those of the kernel's function in the current context. */
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice device)
{
    Function *function;
    TRY(driver_check());
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    TRY(kernel_function(handle, &function));
    CUresult result = function_attribute(function->code, &function->settings, attribute, value);
    PUT(function);
    return result;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device)
{
    Function *function;
    TRY(driver_check());
    if (!driver_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    TRY(kernel_function(handle, &function));
    CUresult result = function_set_attribute(function->code, &function->settings, attribute, value);
    PUT(function);
    return result;
}

/* Changes nothing, as cuFuncSetCacheConfig. */
CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device)
{
    Kernel *kernel;
    TRY(kernel_enter(handle, &kernel));
    PUT(kernel);
    if (!driver_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    Function *function;
    TRY(driver_check());
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(kernel_function(handle, &function));
    CUresult result = function_param_info(function->code, index, offset, size);
    PUT(function);
    return result;
}
