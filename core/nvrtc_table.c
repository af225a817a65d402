/* See nvrtc_table.h. */
#include "core/nvrtc_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*AnyFn)(void);

enum { OPTIONAL, NEEDED }; /* values of the column `needed` */

static const struct Row {
    const char *name;
    int needed;
    size_t field;   /* offset in NvrtcTable */
} rows[] = {
#define NVRTC_FN(returns, name, needed, params) {#name, needed, offsetof(NvrtcTable, name)},
#include "abi/nvrtc_functions.def"
#undef NVRTC_FN
};

bool nvrtc_load(NvrtcTable *table, const char *path, char *problem, size_t problem_size)
{
    *table = (NvrtcTable){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!table->handle) {
        snprintf(problem, problem_size, "%s", dlerror());
        return false;
    }
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        AnyFn function = (AnyFn)dlsym(table->handle, rows[row].name);
        if (!function && rows[row].needed) {
            snprintf(problem, problem_size, "%s has no %s: it is not NVRTC of CUDA 11 or later", path,
                     rows[row].name);
            return false;
        }
        *(AnyFn *)((char *)table + rows[row].field) = function;
    }
    if (table->nvrtcVersion(&table->major, &table->minor) == NVRTC_SUCCESS) return true;
    snprintf(problem, problem_size, "%s: nvrtcVersion failed", path);
    return false;
}

/* Whether the call succeeded. If not, it becomes the product's failed call, unless there is one already. */
static bool note_result(NvrtcProduct *product, int result, const char *call)
{
    if (result == NVRTC_SUCCESS) return true;
    if (!product->failed) {
        product->result = result;
        product->failed = call;
    }
    return false;
}

/* Copies the compiler's log, if it is not empty, to the product. */
static void fetch_log(const NvrtcTable *table, NvrtcProgram program, NvrtcProduct *product)
{
    size_t size = 0;
    if (table->nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) return;
    product->log = calloc(size + 1, 1);
    if (product->log && table->nvrtcGetProgramLog(program, product->log) != NVRTC_SUCCESS)
        product->log[0] = '\0';
}

typedef int (*SizeFn)(NvrtcProgram, size_t *);
typedef int (*CodeFn)(NvrtcProgram, char *);

/* Copies the PTX or cubin to the product. */
static bool fetch_code(const NvrtcTable *table, NvrtcProgram program, NvrtcOutput want, NvrtcProduct *product)
{
    static const char *const names[] = {"nvrtcGetPTX", "nvrtcGetCUBIN"};
    const SizeFn sizes[] = {table->nvrtcGetPTXSize, table->nvrtcGetCUBINSize};
    const CodeFn codes[] = {table->nvrtcGetPTX, table->nvrtcGetCUBIN};
    size_t size = 0;
    if (!sizes[want] || !codes[want]) return note_result(product, NVRTC_ERROR_INVALID_INPUT, names[want]);
    if (!note_result(product, sizes[want](program, &size), names[want])) return false;
    if (size == 0)      /* a virtual architecture has no binary */
        return note_result(product, NVRTC_ERROR_INVALID_INPUT, names[want]);
    product->code = malloc(size + 1);
    if (!product->code) return note_result(product, NVRTC_ERROR_OUT_OF_MEMORY, names[want]);
    if (!note_result(product, codes[want](program, product->code), names[want])) return false;
    product->code[size] = '\0';
    bool has_nul = want == NVRTC_PTX && product->code[size - 1] == '\0';
    product->code_size = has_nul ? size - 1 : size;
    return true;
}

/* Called by the compiler from time to time, from any thread: 1 ends the compilation. */
static int is_abandoned(void *flag, void *reserved)
{
    (void)reserved;
    return atomic_load((atomic_bool *)flag);
}

static bool compile(const NvrtcTable *table, NvrtcProgram program, const NvrtcJob *job, NvrtcProduct *product)
{
    if (job->abandoned && table->nvrtcSetFlowCallback) /* since CUDA 12.8: else it cannot be stopped */
        table->nvrtcSetFlowCallback(program, is_abandoned, job->abandoned);
    for (int i = 0; i < job->expression_count; i++)
        if (!note_result(product, table->nvrtcAddNameExpression(program, job->expressions[i]),
                         "nvrtcAddNameExpression"))
            return false;
    return note_result(product, table->nvrtcCompileProgram(program, job->option_count, job->options),
                       "nvrtcCompileProgram");
}

/* Copies the lowered names, which the program owns, to the product. */
static bool fetch_lowered(const NvrtcTable *table, NvrtcProgram program, const NvrtcJob *job,
                          NvrtcProduct *product)
{
    static const char call[] = "nvrtcGetLoweredName";
    product->lowered = calloc((size_t)job->expression_count + 1, sizeof *product->lowered);
    if (!product->lowered) return note_result(product, NVRTC_ERROR_OUT_OF_MEMORY, call);
    for (int i = 0; i < job->expression_count; i++) {
        const char *name = NULL;
        if (!note_result(product, table->nvrtcGetLoweredName(program, job->expressions[i], &name), call))
            return false;
        product->lowered[product->lowered_count] = strdup(name);
        if (!product->lowered[product->lowered_count++])
            return note_result(product, NVRTC_ERROR_OUT_OF_MEMORY, call);
    }
    return true;
}

bool nvrtc_compile(const NvrtcTable *table, const NvrtcJob *job, NvrtcProduct *product)
{
    NvrtcProgram program = NULL;
    *product = (NvrtcProduct){0};
    if (!note_result(product, table->nvrtcCreateProgram(&program, job->source, job->name, 0, NULL, NULL),
                     "nvrtcCreateProgram"))
        return false;
    bool done = compile(table, program, job, product);
    fetch_log(table, program, product);
    done =
        done && fetch_code(table, program, job->want, product) && fetch_lowered(table, program, job, product);
    table->nvrtcDestroyProgram(&program);
    return done;
}

void nvrtc_product_free(NvrtcProduct *product)
{
    for (int i = 0; i < product->lowered_count; i++) free(product->lowered[i]);
    free(product->lowered);
    free(product->code);
    free(product->log);
    *product = (NvrtcProduct){0};
}
