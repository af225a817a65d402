/* LTO-IR becomes PTX, by NVIDIA's nvJitLink. */
#define _GNU_SOURCE
#include "toolkit/lto.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME_(major) "libnvJitLink.so." #major
#define FILE_NAME(major) FILE_NAME_(major)
static const char file_name[] = FILE_NAME(CUDA_MAJOR);

/* ---- NVIDIA's library ---- */

typedef struct Functions {
#define NVJITLINK_FN(name, params) __typeof__(nvJitLink##name) *name;
#include "toolkit/nvjitlink_functions.def"
#undef NVJITLINK_FN
} Functions;

static Functions nvidia; /* empty: there is no library */
static char known_path[PATH_MAX];
static pthread_once_t opened = PTHREAD_ONCE_INIT;

void cpuDeviceLtoLibrary(const char *path) { snprintf(known_path, sizeof known_path, "%s", path); }

/* Fills in the functions of a library, unless it is this one. They are looked up by their version, which
 * libcuda-preload.so leaves alone. */
static bool use_library(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    bool whole = library != NULL;
    Functions found;
#define NVJITLINK_FN(name, params) \
    *(void **)&found.name = whole ? dlvsym(library, "nvJitLink" #name, file_name) : NULL; \
    whole = whole && found.name && found.name != nvJitLink##name;
#include "toolkit/nvjitlink_functions.def"
#undef NVJITLINK_FN
    if (whole) nvidia = found;
    return whole;
}

static bool use_library_in(const char *folder, int length, const char *below)
{
    char path[PATH_MAX];
    return length && snprintf(path, sizeof path, "%.*s%s/%s", length, folder, below, file_name) < PATH_MAX
           && use_library(path);
}

static bool use_library_of_list(const char *list)
{
    while (list && *list) {
        int length = (int)strcspn(list, ":");
        if (use_library_in(list, length, "")) return true;
        list += length + (list[length] == ':');
    }
    return false;
}

static void open_library(void)
{
    static const char *const roots[] = {"CUDA_PATH", "CUDA_HOME"};
    static const char *const folders[] = {"/usr/local/cuda/lib64", "/usr/lib64", "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu"};
    if (*known_path && use_library(known_path)) return;
    if (use_library_of_list(getenv("LD_LIBRARY_PATH"))) return;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const char *root = getenv(roots[i]);
        if (root && use_library_in(root, (int)strlen(root), "/lib64")) return;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (use_library_in(folders[i], (int)strlen(folders[i]), "")) return;
}

/* ---- The link ---- */

bool lto_set_options(Lto *lto, uint32_t count, const char *const *options)
{
    lto->options = calloc(count + 1, sizeof *lto->options);
    if (!lto->options) return false;
    bool has_ptx = false;
    for (uint32_t i = 0; i < count; i++) {
        has_ptx |= !strcmp(options[i], "-ptx");
        if (!strcmp(options[i], "-r")) continue; /* the PTX is linked later in any case */
        if (!(lto->options[lto->count] = strdup(options[i]))) return false;
        lto->count++;
    }
    if (has_ptx) return true;
    return (lto->options[lto->count++] = strdup("-ptx")) != NULL;
}

void lto_free(Lto *lto)
{
    if (lto->handle) nvidia.Destroy(&lto->handle);
    for (uint32_t i = 0; i < lto->count; i++) free(lto->options[i]);
    free(lto->options);
    free(lto->ptx);
    free(lto->log);
}

/* Takes over the library's error log after a call. */
static nvJitLinkResult keep_log(Lto *lto, nvJitLinkResult result)
{
    size_t size = 0;
    if (!result || !lto->handle || nvidia.GetErrorLogSize(lto->handle, &size) || !size) return result;
    free(lto->log);
    lto->log = malloc(size + 1);
    if (lto->log && nvidia.GetErrorLog(lto->handle, lto->log)) lto->log[0] = '\0';
    if (lto->log) lto->log[size] = '\0';
    return result;
}

static nvJitLinkResult no_library(Lto *lto)
{
    free(lto->log);
    if (asprintf(
            &lto->log,
            "this is LTO-IR, which NVIDIA's %s makes PTX of, and none was found: install it (pip install "
            "nvidia-nvjitlink), or compile without LTO",
            file_name)
        < 0)
        lto->log = NULL;
    return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
}

nvJitLinkResult lto_add(Lto *lto, const void *data, size_t size, const char *name)
{
    pthread_once(&opened, open_library);
    if (!nvidia.Create) return no_library(lto);
    nvJitLinkResult result = NVJITLINK_SUCCESS;
    if (!lto->handle) result = nvidia.Create(&lto->handle, lto->count, (const char *const *)lto->options);
    if (!result) result = nvidia.AddData(lto->handle, NVJITLINK_INPUT_LTOIR, data, size, name);
    return keep_log(lto, result);
}

nvJitLinkResult lto_complete(Lto *lto)
{
    nvJitLinkResult result = nvidia.Complete(lto->handle);
    if (!result) result = nvidia.GetLinkedPtxSize(lto->handle, &lto->ptx_size);
    if (result) return keep_log(lto, result);
    free(lto->ptx);
    lto->ptx = malloc(lto->ptx_size + 1);
    if (!lto->ptx) return NVJITLINK_ERROR_INTERNAL;
    result = nvidia.GetLinkedPtx(lto->handle, lto->ptx);
    return keep_log(lto, result);
}
