/* libFuzzer target for the module loader: any bytes (a fat binary, a linked image or PTX) either load as a
 * module whose functions can be queried, or give an error with a message. They are loaded with their length,
 * as from a file, and without it, as from a buffer that pycuda has found to be complete. Nothing is
 * launched. */
#include <stdint.h>
#include <stdlib.h>

#include "core/image_size.c"

#include "api/context/context.h"
#include "api/base/driver.h"
#include "api/code/module.h"

enum { LARGEST_INPUT = 1 << 16 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    CUcontext context;
    (void)argc, (void)argv;
    setenv("PYCUDA_CPU_MEMORY", "64M", 1);
    setenv("PYCUDA_CPU_COMPUTE_CAPABILITY", "9.0", 1); /* inputs may have all of the instructions */
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0)) abort();
    return 0;
}

/* Queries everything about a module's functions; aborts if a query fails. */
static void query_functions(Module *module)
{
    for (unsigned f = 0; f < module->function_count; f++) {
        int registers, blocks;
        size_t offset, size;
        Function *function = module->functions[f];
        if (cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function)) abort();
        if (module_function(module, function->code->name) == NULL) abort();
        for (size_t p = 0; cuFuncGetParamInfo(function, p, &offset, &size) == CUDA_SUCCESS; p++)
            if (offset + size > 1 << 16) abort();
        (void)cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0);
    }
}

/* Loads and unloads a module. limit: the size of the data, SIZE_MAX if it is unknown. */
static CUresult load(const uint8_t *data, size_t limit, PtxLog *log)
{
    Context *context;
    Image image;
    Module *module;
    if (context_enter(&context)) abort();
    CUresult result = image_open(data, limit, driver_settings()->capability, &image, log);
    if (!result) result = module_load(context, &image, NULL, log, &module);
    image_close(&image);
    if (result) return result;
    query_functions(module);
    if (!module_unload(module)) abort();
    object_put(OBJECT(module));
    return CUDA_SUCCESS;
}

/* Loads a module; aborts if that fails without a message. */
static void load_or_explain(const uint8_t *data, size_t limit)
{
    PtxLog log = {0};
    CUresult result = load(data, limit, &log);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY && !*ptx_log_text(&log)) abort();
    ptx_log_free(&log);
}

/* Loads data as module_from_buffer does: padded with zeros to the size of a header, with a NUL after the
 * end, and without its length. */
static void load_buffer(const uint8_t *data, size_t size)
{
    enum { HEADER = 64 }; /* no header of an image is longer */
    char why[160];
    size_t length = size < HEADER ? HEADER : size;
    uint8_t *exact = calloc(1, length + 1);
    if (!exact) abort();
    memcpy(exact, data, size);
    if (size && image_is_whole(exact, length, why, sizeof why)) load_or_explain(exact, SIZE_MAX);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > LARGEST_INPUT) return -1;
    load_or_explain(data, size);
    load_buffer(data, size);
    return 0;
}
