/* libnvJitLink.so.N: nvJitLink's interface over the CPU device's linker.
 *
 * PTX in, and out comes what cuModuleLoadData of the CPU device takes, where NVIDIA's library gives a cubin.
 * LTO-IR becomes PTX first, by NVIDIA's library. Machine code is refused with a text in the error log. Codes
 * of results are those of NVIDIA's library, as far as it goes on where this one does.
 */
#define _GNU_SOURCE
#include "toolkit/nvjitlink.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cpu_device.h"
#include "toolkit/lto.h"
#include "toolkit/own_folder.h"

struct nvJitLink {
    const CpuLinker *linker;
    CpuLinkOptions options;
    bool lto, ptx;          /* -lto, -ptx */
    bool lto_inputs, other_inputs;
    Lto lto_link;
    CpuLink *link;          /* NULL: the creation failed */
    char *errors;           /* of this file, before those of the link; NULL: none */
    char *all_errors;       /* what was handed out last */
    const void *image;      /* of the link, after nvJitLinkComplete */
    size_t image_size;
};

/* ---- Errors ---- */

static void add_error(nvJitLinkHandle handle, const char *line)
{
    size_t before = handle->errors ? strlen(handle->errors) : 0, size = before + strlen(line) + 2;
    char *joined = realloc(handle->errors, size);
    if (!joined) return;
    snprintf(joined + before, size - before, "%s\n", line);
    handle->errors = joined;
}

/* Adds a line to the error log; returns the code, which version 12 has another one for. */
__attribute__((format(printf, 3, 4))) static nvJitLinkResult refuse(nvJitLinkHandle handle,
                                                                    nvJitLinkResult code, const char *format,
                                                                    ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    add_error(handle, line);
    if (CUDA_MAJOR >= 13 || code <= NVJITLINK_ERROR_FINALIZE) return code;
    return code == NVJITLINK_ERROR_INCORRECT_INPUT_TYPE ? NVJITLINK_ERROR_UNRECOGNIZED_INPUT
                                                        : NVJITLINK_ERROR_INVALID_INPUT;
}

/* Adds what the library that links LTO-IR has to say. */
static nvJitLinkResult refuse_lto(nvJitLinkHandle handle, nvJitLinkResult code)
{
    if (handle->lto_link.log) add_error(handle, handle->lto_link.log);
    return code;
}

/* The error log: what this file and the link have to say; NULL if out of memory. */
static const char *error_log(nvJitLinkHandle handle)
{
    const char *mine = handle->errors ? handle->errors : "";
    const char *of_link = handle->link ? handle->linker->log(handle->link) : "";
    size_t size = strlen(mine) + strlen(of_link) + 1;
    char *joined = realloc(handle->all_errors, size);
    if (!joined) return NULL;
    snprintf(joined, size, "%s%s", mine, of_link);
    return handle->all_errors = joined;
}

#define NULL_INPUT (CUDA_MAJOR >= 13 ? NVJITLINK_ERROR_NULL_INPUT : NVJITLINK_ERROR_INVALID_INPUT)

/* ---- Options ---- */

typedef nvJitLinkResult ReadOption(nvJitLinkHandle handle, const char *option, const char *value);

#define READER(name) \
    static nvJitLinkResult name(nvJitLinkHandle handle, const char *option, const char *value)
#define SETTER(name, field) \
    READER(name) \
    { \
        (void)option, (void)value; \
        handle->field = true; \
        return NVJITLINK_SUCCESS; \
    }
SETTER(SET_AS_WRITTEN, options.as_written)
SETTER(SET_LTO, lto)
SETTER(SET_PTX, ptx)
#if CUDA_MAJOR >= 13
SETTER(SET_RELOCATABLE, options.relocatable)
#endif
#undef SETTER

READER(ACCEPT)
{
    (void)handle, (void)option, (void)value;
    return NVJITLINK_SUCCESS;
}

READER(READ_REGISTERS)
{
    (void)option;
    long registers = strtol(value, NULL, 10);
    handle->options.max_registers = registers > 0 ? (unsigned)registers : 0;
    return NVJITLINK_SUCCESS;
}

/* sm_90, sm_90a, sm_100f, or compute_ with the same. */
READER(READ_ARCH)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        char *end;
        if (strncmp(value, prefixes[i], length) != 0) continue;
        long number = strtol(value + length, &end, 10);
        end += *end == 'a' || *end == 'f';
        if (number < 10 || number > 999 || *end) break;
        handle->options.capability = (int)number;
        return NVJITLINK_SUCCESS;
    }
    return refuse(handle, NVJITLINK_ERROR_UNRECOGNIZED_ARCH, "unrecognized architecture: %s", option);
}

static nvJitLinkResult read_option(nvJitLinkHandle handle, const char *option)
{
    static const struct {
        const char *text;
        ReadOption *read;
    } rows[] = {
#define OPTION(text, read) {text, read},
#include "toolkit/nvjitlink_options.def"
#undef OPTION
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].text);
        bool has_value = rows[i].text[length - 1] == '=';
        if (has_value ? !strncmp(option, rows[i].text, length) : !strcmp(option, rows[i].text))
            return rows[i].read(handle, option, option + length);
    }
    return refuse(handle, NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "unrecognized option: %s", option);
}

static nvJitLinkResult read_options(nvJitLinkHandle handle, uint32_t count, const char *const *options)
{
    for (uint32_t i = 0; i < count; i++) {
        nvJitLinkResult result = read_option(handle, options[i]);
        if (result) return result;
    }
    if (!handle->options.capability)
        return refuse(handle, NVJITLINK_ERROR_MISSING_ARCH, "the option -arch=sm_NN is missing");
    if (handle->ptx && !handle->lto)
        return refuse(handle, NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, "-ptx requires -lto");
    return NVJITLINK_SUCCESS;
}

/* ---- The link ---- */

/* Opens the CPU device and begins the link. */
static nvJitLinkResult begin(nvJitLinkHandle handle)
{
    void *library = open_beside_this("libcuda.so.1");
    CpuLinkerFn get = NULL;
    if (library) *(void **)&get = dlsym(library, "cpuDeviceLinker");
    if (!get)
        return refuse(handle, NVJITLINK_ERROR_INTERNAL, "the CPU device's library cannot be opened: %s",
                      library ? "it is of another version" : dlerror());
    handle->linker = get();
    handle->link = handle->linker->begin(&handle->options);
    return handle->link ? NVJITLINK_SUCCESS : refuse(handle, NVJITLINK_ERROR_INTERNAL, "out of memory");
}

/* The handle is there after an error as well, for its log. */
nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char *const *options)
{
    if (!handle || (count && !options)) return NULL_INPUT;
    *handle = calloc(1, sizeof **handle);
    if (!*handle) return NVJITLINK_ERROR_INTERNAL;
    nvJitLinkResult result = read_options(*handle, count, options);
    if (!result && !lto_set_options(&(*handle)->lto_link, count, options)) return NVJITLINK_ERROR_INTERNAL;
    return result ? result : begin(*handle);
}

nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle)
{
    if (!handle || !*handle) return NULL_INPUT;
    if ((*handle)->link) (*handle)->linker->end((*handle)->link);
    lto_free(&(*handle)->lto_link);
    free((*handle)->errors);
    free((*handle)->all_errors);
    free(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult result_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS: return NVJITLINK_SUCCESS;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU: return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return NVJITLINK_ERROR_PTX_COMPILE;
    default: return NVJITLINK_ERROR_INTERNAL;
    }
}

static bool starts_with(const void *data, size_t size, const char *magic)
{
    return size >= strlen(magic) && !memcmp(data, magic, strlen(magic));
}

static nvJitLinkResult add_lto(nvJitLinkHandle handle, const void *data, size_t size, const char *name)
{
    if (!handle->lto)
        return refuse(handle, NVJITLINK_ERROR_LTO_NOT_ENABLED, "%s is LTO-IR: the option -lto is missing",
                      name ? name : "an input");
    nvJitLinkResult result = lto_add(&handle->lto_link, data, size, name);
    if (result) return refuse_lto(handle, result);
    handle->lto_inputs = true;
    return NVJITLINK_SUCCESS;
}

/* Cubins are taken where they are what this library and NVRTC give here; the link looks at them. */
nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data,
                                 size_t size, const char *name)
{
    static const char lto_magic[] = "\355CN\177";
    if (!handle || !data) return NULL_INPUT;
    if (!size) return NVJITLINK_ERROR_INVALID_INPUT;
    if (!handle->link) return NVJITLINK_ERROR_INTERNAL;
    bool known = type >= NVJITLINK_INPUT_CUBIN && type <= NVJITLINK_INPUT_LIBRARY;
    if (!known && type != NVJITLINK_INPUT_ANY)
        return refuse(handle, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                      "%s is of type %d: the CPU device links PTX, LTO-IR, and fat binaries that hold PTX",
                      name ? name : "an input", (int)type);
    if (type == NVJITLINK_INPUT_LTOIR || starts_with(data, size, lto_magic))
        return add_lto(handle, data, size, name);
    CUresult result = handle->linker->add(handle->link, data, size, name);
    handle->other_inputs |= !result;
    return result_of(result);
}

nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, nvJitLinkInputType type, const char *path)
{
    if (!handle || !path) return NULL_INPUT;
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t size = 0, room = 0;
    while (file && !feof(file) && !ferror(file)) {
        enum { STEP = 1 << 16 };
        if (size + STEP > room) {
            char *larger = realloc(data, room = 2 * room + STEP);
            if (!larger) break;
            data = larger;
        }
        size += fread(data + size, 1, STEP, file);
    }
    bool whole = file && feof(file) && !ferror(file);
    if (file) fclose(file);
    nvJitLinkResult result = whole ? nvJitLinkAddData(handle, type, data, size, path)
                                   : refuse(handle, NVJITLINK_ERROR_INVALID_INPUT, "%s cannot be read", path);
    free(data);
    return result;
}

/* Makes PTX of the LTO-IR and, unless PTX is what the program wants, adds it to the link. */
static nvJitLinkResult complete_lto(nvJitLinkHandle handle)
{
    nvJitLinkResult result = lto_complete(&handle->lto_link);
    if (result) return refuse_lto(handle, result);
    handle->lto_inputs = false; /* it is done */
    if (handle->ptx) return NVJITLINK_SUCCESS;
    const Lto *lto = &handle->lto_link;
    return result_of(handle->linker->add(handle->link, lto->ptx, lto->ptx_size, "the linked LTO-IR"));
}

nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle)
{
    if (!handle) return NULL_INPUT;
    if (!handle->link) return NVJITLINK_ERROR_INTERNAL;
    if (handle->ptx && (handle->other_inputs || !handle->lto_inputs))
        return refuse(handle, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                      "-ptx requires that all inputs are LTO-IR");
    nvJitLinkResult result = handle->lto_inputs ? complete_lto(handle) : NVJITLINK_SUCCESS;
    if (result || handle->ptx) return result;
    CUresult completed = handle->linker->complete(handle->link, &handle->image, &handle->image_size);
    if (completed) handle->image = NULL;
    return result_of(completed);
}

/* ---- Answers ---- */

nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size)
{
    if (!handle || !size) return NULL_INPUT;
    if (!handle->image) return NVJITLINK_ERROR_INTERNAL;
    *size = handle->image_size;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin)
{
    if (!handle || !cubin) return NULL_INPUT;
    if (!handle->image) return NVJITLINK_ERROR_INTERNAL;
    memcpy(cubin, handle->image, handle->image_size);
    return NVJITLINK_SUCCESS;
}

/* There is PTX after a link with -ptx. */
nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size)
{
    if (!handle || !size) return NULL_INPUT;
    if (!handle->ptx) return NVJITLINK_ERROR_INVALID_INPUT;
    if (!handle->lto_link.ptx) return NVJITLINK_ERROR_INTERNAL;
    *size = handle->lto_link.ptx_size;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx)
{
    size_t size;
    nvJitLinkResult result = ptx ? nvJitLinkGetLinkedPtxSize(handle, &size) : NULL_INPUT;
    if (!result) memcpy(ptx, handle->lto_link.ptx, size);
    return result;
}

/* The functions that give nothing. */
#define NVJITLINK_FN(name, params)
#define NVJITLINK_REFUSED(name, params, why) \
    nvJitLinkResult nvJitLink##name params \
    { \
        if (!handle || !out) return NULL_INPUT; \
        return refuse(handle, NVJITLINK_ERROR_INVALID_INPUT, "nvJitLink%s: %s", #name, why); \
    }
#include "toolkit/nvjitlink_functions.def"
#undef NVJITLINK_FN

/* The size is that of the text with its NUL; 0 while there is none. */
nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size)
{
    if (!handle || !size) return NULL_INPUT;
    const char *text = error_log(handle);
    if (!text) return NVJITLINK_ERROR_INTERNAL;
    *size = *text ? strlen(text) + 1 : 0;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log)
{
    if (!handle || !log) return NULL_INPUT;
    const char *text = error_log(handle);
    if (!text) return NVJITLINK_ERROR_INTERNAL;
    if (*text) memcpy(log, text, strlen(text) + 1);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size)
{
    if (!handle || !size) return NULL_INPUT;
    *size = 0;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log)
{
    return handle && log ? NVJITLINK_SUCCESS : NULL_INPUT;
}

/* Without NVIDIA's library, whose version libcuda-preload.so lets through, this is the oldest: programs that
 * ask whether LTO-IR can be linked do without. */
nvJitLinkResult nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor) return NULL_INPUT;
    *major = CUDA_MAJOR;
    *minor = 0;
    return NVJITLINK_SUCCESS;
}

/* ---- The names of each minor version ---- */

#define VERSION(name, params, minor) \
    NVJITLINK_API NVJITLINK_NAME(name, CUDA_MAJOR, minor) \
    params __attribute__((alias("nvJitLink" #name)));
#define NVJITLINK_FN(name, params) \
    VERSION(name, params, 0) \
    VERSION(name, params, 1) \
    VERSION(name, params, 2) \
    VERSION(name, params, 3) \
    VERSION(name, params, 4) \
    VERSION(name, params, 5) \
    VERSION(name, params, 6) \
    VERSION(name, params, 7) \
    VERSION(name, params, 8) \
    VERSION(name, params, 9)
#include "toolkit/nvjitlink_functions.def"
#undef NVJITLINK_FN
#undef VERSION
