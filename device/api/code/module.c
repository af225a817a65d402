/* Modules: loading images, finding kernels and variables, unloading. */
#include "api/code/module.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/code/runtime_library.h"
#include "api/device/device_limits.h"
#include "api/memory/memory.h"
#include "api/stream/capture.h"
#include "api/stream/queue.h"
#include "lower/lower.h"

static void module_release(Object *object)
{
    Module *module = (Module *)object;
    for (uint32_t g = 0; module->code && g < module->code->global_count; g++)
        memory_release_of(object, module->code->globals[g].address);
    for (uint32_t r = 0; module->code && module->references && r < module->code->reference_count; r++)
        if (module->references[r]) PUT(module->references[r]);
    code_module_free(module->code);
    free(module->references);
    free(module->functions);
}

/* LowerHost.allocate. */
static uint64_t allocate_variable(void *closure, const char *name, uint64_t size, uint64_t align,
                                  VariableKind kind)
{
    static const MemoryKind kinds[] = {[VARIABLE_GLOBAL] = MEMORY_GLOBAL,
                                       [VARIABLE_CONST] = MEMORY_CONST,
                                       [VARIABLE_MANAGED] = MEMORY_GLOBAL_MANAGED};
    Module *module = closure;
    CUdeviceptr address;
    (void)name;
    MemoryRequest request = {
        .size = size ? size : 1,
        .align = align,
        .kind = kinds[kind],
        .read_only = kind == VARIABLE_CONST,
    };
    return memory_allocate_inside(module->object.context, &request, &address) ? 0 : address;
}

static void release_variable(void *closure, uint64_t address)
{
    const Module *module = closure;
    memory_release_of(OBJECT(module), address);
}

const CodeGlobal *module_global(const Module *module, const char *name)
{
    for (uint32_t g = 0; g < module->code->global_count; g++)
        if (!strcmp(module->code->globals[g].name, name)) return &module->code->globals[g];
    return NULL;
}

CUresult module_result(const PtxLog *log)
{
    switch (log->status) {
    case PTX_UNSUPPORTED_VERSION: return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case PTX_UNSUPPORTED_TARGET: return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case PTX_OUT_OF_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case PTX_UNLINKABLE: return CUDA_ERROR_INVALID_SOURCE;
    default: return CUDA_ERROR_INVALID_PTX;
    }
}

/* The newest PTX version (78 for 7.8) that a driver of that version accepts; 0: any that the parser knows. A
 * GPU's driver of CUDA 13 stops at its own minor version. Here every instruction is checked, and an unknown
 * one is refused anyway. CUDA 12.5 and 12.6 both have PTX 8.5, so the minor numbers differ by one from there
 * on. */
static int newest_ptx(int driver_version)
{
    int major = driver_version / 1000, minor = driver_version % 1000 / 10;
    if (major >= 13) return 0;
    if (major == 12) return minor < 6 ? 80 + minor : 79 + minor;
    return major == 11 ? 70 + minor : 63 + minor;
}

/* Sets the limit of CU_JIT_MAX_REGISTERS (0: none) for kernels that have neither .maxnreg nor a block
 * size. */
static void limit_registers(PtxModule *tree, uint32_t max)
{
    for (uint32_t i = 0; tree && max && i < tree->function_count; i++) {
        PtxFunction *f = tree->functions[i];
        if (!f->maxnreg && !f->maxntid[0] && !f->reqntid[0]) f->maxnreg = max;
    }
}

static PtxModule *parse_part(const ImagePart *part, const PtxOptions *limits, uint32_t max_registers,
                             PtxLog *log)
{
    PtxOptions options = *limits;
    options.name = part->name;
    PtxModule *tree = ptx_parse(part->text, part->length, &options, log);
    limit_registers(tree, max_registers);
    return tree;
}

PtxModule *module_join(const Image *image, const PtxOptions *limits, PtxLog *log)
{
    PtxModule *trees[IMAGE_MAX_PARTS + 1], *whole = NULL;
    unsigned count = 0, wanted = image->count; /* of trees: parsed; needed */
    uint32_t registers = image->options.max_registers;
    bool runtime = false;
    while (count < image->count && (trees[count] = parse_part(&image->parts[count], limits, registers, log)))
        runtime |= runtime_library_wanted(trees[count++]);
    if (count == image->count && runtime) {
        wanted++;
        if ((trees[count] = runtime_library_parse(limits->chunks, log))) count++;
    }
    if (count && count == wanted) whole = count == 1 ? trees[0] : ptx_link(trees, count, log);
    for (unsigned i = 0; !whole && i < count; i++) ptx_module_free(trees[i]);
    return whole;
}

/* Compiles the image to module->code. Its variables become memory of the context, which is kept open. */
static CUresult compile_open(Module *module, const Image *image, PtxLog *log)
{
    LowerHost host = {.closure = module,
                      .allocate = allocate_variable,
                      .release = release_variable,
                      .chunks = driver_chunks(),
                      .as_written = image->options.as_written,
                      .checks = driver_settings()->checks,
                      .max_shared = (uint32_t)device_limits()->shared_optin,
                      .linked = image->linked};
    PtxOptions limits = {.max_version = newest_ptx(driver_settings()->version),
                         .max_target = driver_settings()->capability,
                         .chunks = driver_chunks()};
    PtxModule *tree = module_join(image, &limits, log);
    if (!tree) return image->count ? module_result(log) : CUDA_ERROR_INVALID_IMAGE;
    module->code = lower_module(tree, &host, log);
    ptx_module_free(tree);
    if (!module->code) return module_result(log);
    exec_bind(module->code);
    return CUDA_SUCCESS;
}

static CUresult compile_image(Module *module, const Image *image, PtxLog *log)
{
    Context *context = module->object.context;
    if (!context_keep_open(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = compile_open(module, image, log);
    context_allow_close(context);
    return result;
}

static void function_release(Object *object)
{
    Function *function = (Function *)object;
    free(function->legacy_launch);
    PUT(function->module);
}

/* A published function, which is borrowed from the registry; NULL if out of memory. */
static Function *function_new(Module *module, const CodeFunction *code)
{
    Function *function =
        object_new(OBJECT_FUNCTION, sizeof *function, module->object.context, function_release);
    if (!function) return NULL;
    object_hold(OBJECT(module));
    function->module = module;
    function->code = code;
    atomic_store(&function->settings.dynamic_shared, -1);
    atomic_store(&function->settings.carveout, -1);
    bool ok = object_publish(OBJECT(function)) == CUDA_SUCCESS;
    PUT(function); /* the registry's reference keeps it */
    return ok ? function : NULL;
}

static CUresult make_functions(Module *module)
{
    const CodeModule *code = module->code;
    module->functions = calloc(code->entry_count + 1, sizeof(Function *));
    if (!module->functions) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t f = 0; f < code->function_count && module->function_count < code->entry_count; f++) {
        if (!code->functions[f]->is_entry) continue;
        Function *function = function_new(module, code->functions[f]);
        if (!function) return CUDA_ERROR_OUT_OF_MEMORY;
        module->functions[module->function_count++] = function;
    }
    return CUDA_SUCCESS;
}

static CUresult make_references(Module *module)
{
    const CodeModule *code = module->code;
    module->references = calloc(code->reference_count + 1, sizeof(TexRef *));
    if (!module->references) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t r = 0; r < code->reference_count; r++)
        TRY(reference_register(module->object.context, code->references[r].surface, &module->references[r]));
    return CUDA_SUCCESS;
}

TextureBinding *module_bind_references(const Module *module)
{
    uint32_t count = module->code->reference_count;
    TextureBinding *bindings = count ? malloc(count * sizeof *bindings) : NULL;
    if (bindings) references_bind(module->references, count, bindings);
    return bindings;
}

CUresult module_load(Context *context, const Image *image, Library *library, PtxLog *log, Module **out)
{
    Module *module = object_new(OBJECT_MODULE, sizeof *module, context, module_release);
    if (!module) return CONTEXT_MEMORY_ERROR(context);
    module->library = library;
    CUresult result = compile_image(module, image, log);
    if (!result) result = make_functions(module);
    if (!result) result = make_references(module);
    if (!result) result = object_publish(OBJECT(module));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) result = CONTEXT_MEMORY_ERROR(context);
    if (result) {
        module_unload(module);
        PUT(module);
    } else
        *out = module;
    return result;
}

bool module_unload(Module *module)
{
    bool mine = object_retire(OBJECT(module));
    for (unsigned f = 0; f < module->function_count; f++) {
        Function *function = object_get(module->functions[f], OBJECT_FUNCTION);
        if (!function) continue;
        object_retire(OBJECT(function));
        PUT(function);
    }
    for (uint32_t r = 0; module->references && r < module->code->reference_count; r++)
        if (module->references[r]) object_retire(OBJECT(module->references[r]));
    return mine;
}

Function *module_function(const Module *module, const char *name)
{
    for (unsigned f = 0; f < module->function_count; f++)
        if (!strcmp(module->functions[f]->code->name, name)) return module->functions[f];
    return NULL;
}

static CUresult load_module(CUmodule *out, const void *data, size_t limit, unsigned count,
                            const CUjit_option *names, void **values)
{
    Context *context;
    JitOptions options;
    Image image;
    PtxLog log = {0};
    Module *module;
    TRY(context_enter(&context));
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    TRY(jit_options_read(&options, count, names, values));
    CUresult result = image_open(data, limit, driver_settings()->capability, &image, &log);
    if (!image.linked) image.options = options.code;
    if (!result) result = module_load(context, &image, NULL, &log, &module);
    jit_options_answer(&options, result, &log);
    ptx_log_free(&log);
    image_close(&image);
    if (result) return result;
    *out = module;
    PUT(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    return load_module(out, image, SIZE_MAX, 0, NULL, NULL);
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count, CUjit_option *options,
                            void **values)
{
    return load_module(out, image, SIZE_MAX, count, options, values);
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return load_module(out, image, SIZE_MAX, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    Context *context;
    char *data;
    size_t size;
    TRY(context_enter(&context));
    if (!out || !path) return CUDA_ERROR_INVALID_VALUE;
    TRY(image_read_file(path, &data, &size));
    CUresult result = load_module(out, data, size, 0, NULL, NULL);
    free(data);
    return result;
}

CUresult cuModuleUnload(CUmodule handle)
{
    Context *context;
    TRY(context_enter_any(&context));
    Module *module = object_get(handle, OBJECT_MODULE);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result =
        module->library ? CUDA_ERROR_INVALID_HANDLE : queue_wait_context(module->object.context);
    if (!result) result = module_unload(module) ? context_error(context) : CUDA_ERROR_INVALID_HANDLE;
    PUT(module);
    return result;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    TRY(driver_check());
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

static CUresult module_enter(CUmodule handle, Module **out)
{
    Context *context;
    TRY(context_enter(&context));
    *out = object_get(handle, OBJECT_MODULE);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    Module *module;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    TRY(module_enter(handle, &module));
    Function *function = module_function(module, name);
    PUT(module);
    *out = function;
    return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static TexRef *module_reference(const Module *module, const char *name, bool surface)
{
    for (uint32_t r = 0; r < module->code->reference_count; r++) {
        const CodeReference *reference = &module->code->references[r];
        if (reference->surface == surface && !strcmp(reference->name, name)) return module->references[r];
    }
    return NULL;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule handle, const char *name)
{
    Module *module;
    if (!name || (!address && !size)) return CUDA_ERROR_INVALID_VALUE;
    TRY(module_enter(handle, &module));
    const CodeGlobal *global = module_global(module, name);
    if (global && address) *address = global->address;
    if (global && size) *size = global->size;
    bool reference = module_reference(module, name, false) || module_reference(module, name, true);
    PUT(module);
    if (reference) return CUDA_ERROR_INVALID_VALUE; /* a texture or surface reference has no address */
    return global ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult get_reference(void **out, CUmodule handle, const char *name, bool surface)
{
    Module *module;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    TRY(module_enter(handle, &module));
    TexRef *reference = module_reference(module, name, surface);
    PUT(module);
    if (!reference) return CUDA_ERROR_NOT_FOUND;
    *out = reference;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetTexRef(CUtexref *out, CUmodule module, const char *name)
{
    return get_reference((void **)out, module, name, false);
}

CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule module, const char *name)
{
    return get_reference((void **)out, module, name, true);
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
    Module *module;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    TRY(module_enter(handle, &module));
    *count = module->function_count;
    PUT(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule handle)
{
    Module *module;
    if (!functions) return CUDA_ERROR_INVALID_VALUE;
    TRY(module_enter(handle, &module));
    for (unsigned i = 0; i < count; i++)
        functions[i] = i < module->function_count ? module->functions[i] : NULL;
    PUT(module);
    return CUDA_SUCCESS;
}
