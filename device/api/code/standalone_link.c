/* cpuDeviceLinker: links without a context, also before cuInit. What is wrong with the whole shows when it is
 * lowered, as for a load; its code is thrown away. */
#include <stdlib.h>

#include "api/code/module.h"
#include "api/code/text_link.h"
#include "api/device/device_limits.h"

struct CpuLink {
    CpuLinkOptions options;
    TextLink texts;
    PtxLog log; /* of all calls */
};

static CpuLink *link_begin(const CpuLinkOptions *options)
{
    CpuLink *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->options = *options;
    PtxOptions limits = {.max_target = options->capability};
    CodeOptions code = {.as_written = options->as_written, .max_registers = options->max_registers};
    text_link_begin(&link->texts, &limits, &code);
    return link;
}

static void link_end(CpuLink *link)
{
    text_link_end(&link->texts);
    ptx_log_free(&link->log);
    free(link);
}

/* Each call has a log of its own, as errors of an earlier one would be taken for its own. */
static CUresult keep_log(CpuLink *link, PtxLog *log, CUresult result)
{
    if (result) ptx_log_append(&link->log, "%s", ptx_log_text(log));
    ptx_log_free(log);
    return result;
}

static CUresult link_add(CpuLink *link, const void *data, size_t size, const char *name)
{
    PtxLog log = {0};
    CUresult result = text_link_add(&link->texts, data, size, name, link->options.capability, &log);
    return keep_log(link, &log, result);
}

/* LowerHost.allocate and release. */
static uint64_t allocate_variable(void *closure, const char *name, uint64_t size, uint64_t align,
                                  VariableKind kind)
{
    void *memory;
    (void)closure, (void)name, (void)kind;
    size_t aligned = align < sizeof memory ? sizeof memory : align;
    return posix_memalign(&memory, aligned, size) ? 0 : (uint64_t)(uintptr_t)memory;
}

static void release_variable(void *closure, uint64_t address)
{
    (void)closure;
    free((void *)(uintptr_t)address);
}

/* Whether the image's texts make a module. */
static CUresult check_module(const Image *image, const PtxOptions *limits, PtxLog *log)
{
    LowerHost host = {.allocate = allocate_variable,
                      .release = release_variable,
                      .as_written = image->options.as_written,
                      .max_shared = (uint32_t)device_limits()->shared_optin,
                      .linked = true};
    PtxModule *tree = module_join(image, limits, log);
    CodeModule *code = tree ? lower_module(tree, &host, log) : NULL;
    ptx_module_free(tree);
    if (!code) return module_result(log);
    for (uint32_t g = 0; g < code->global_count; g++) release_variable(NULL, code->globals[g].address);
    code_module_free(code);
    return CUDA_SUCCESS;
}

static CUresult check_whole(const CpuLink *link, PtxLog *log)
{
    Image whole;
    const TextLink *texts = &link->texts;
    CUresult result = image_open(texts->image, texts->image_size, link->options.capability, &whole, log);
    if (!result) result = check_module(&whole, &texts->limits, log);
    image_close(&whole);
    return result;
}

static CUresult link_complete(CpuLink *link, const void **image, size_t *size)
{
    PtxLog log = {0};
    TRY(text_link_join(&link->texts));
    CUresult result = link->options.relocatable ? CUDA_SUCCESS : check_whole(link, &log);
    *image = link->texts.image;
    *size = link->texts.image_size;
    return keep_log(link, &log, result);
}

static const char *link_log(const CpuLink *link) { return ptx_log_text(&link->log); }

const CpuLinker *cpuDeviceLinker(void)
{
    static const CpuLinker linker = {link_begin, link_add, link_complete, link_log, link_end};
    return &linker;
}
