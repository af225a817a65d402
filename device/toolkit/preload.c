/* libcuda-preload.so: what a program that asks for machine code gets on the CPU device.
 *
 * NVRTC makes PTX on its way to a cubin, for every architecture. A program that gets the functions for cubins
 * from an NVRTC that it has found by itself, by dlsym() or by being linked with it, gets those of this file,
 * which answer with that PTX. Of an nvJitLink that it has found it gets the functions of the library of that
 * name in this folder. A program that opens NVIDIA's CUDA runtime by its path gets the one of this folder.
 * Nothing else changes, and nothing is opened before the program asks.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "toolkit/own_folder.h"

#define EXPORT __attribute__((visibility("default")))

typedef void *Lookup(void *handle, const char *name);
typedef void *Open(const char *path, int mode);

/* A function of the C library. glibc has it under one of these versions, by processor and release. */
static void *system_function(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, name, versions[i]);
    if (!found) abort(); /* no program could work without */
    return found;
}

static Lookup *system_lookup(void)
{
    static Lookup *found;
    if (!found) *(void **)&found = system_function("dlsym");
    return found;
}

static Open *system_open(void)
{
    static Open *found;
    if (!found) *(void **)&found = system_function("dlopen");
    return found;
}

/* ---- NVRTC ---- */

typedef int GetSize(void *program, size_t *size);
typedef int GetBytes(void *program, char *bytes);

/* A library of NVRTC: its own functions. A program may have opened several. */
typedef struct Compiler {
    const void *base;       /* where it is in memory; NULL: the place is free */
    GetSize *cubin_size, *ptx_size;
    GetBytes *ptx;
} Compiler;

enum { MAX_COMPILERS = 4 };
static Compiler compilers[MAX_COMPILERS];
static pthread_mutex_t compilers_lock = PTHREAD_MUTEX_INITIALIZER;

/* There is no cubin (size 0) of a virtual architecture, of LTO-IR, before the compilation. */
static int answer_size(const Compiler *compiler, void *program, size_t *size)
{
    int result = compiler->cubin_size(program, size);
    return result || !*size ? result : compiler->ptx_size(program, size);
}

static int answer_bytes(const Compiler *compiler, void *program, char *bytes)
{
    size_t size;
    int result = compiler->cubin_size(program, &size);
    return result || !size ? result : compiler->ptx(program, bytes);
}

/* The functions that a program gets, for each place of the table. */
#define ANSWERS(n) \
    static int size_##n(void *program, size_t *size) { return answer_size(&compilers[n], program, size); } \
    static int bytes_##n(void *program, char *bytes) { return answer_bytes(&compilers[n], program, bytes); }
ANSWERS(0)
ANSWERS(1)
ANSWERS(2)
ANSWERS(3)
#undef ANSWERS
static GetSize *const size_answers[MAX_COMPILERS] = {size_0, size_1, size_2, size_3};
static GetBytes *const bytes_answers[MAX_COMPILERS] = {bytes_0, bytes_1, bytes_2, bytes_3};

static const char size_name[] = "nvrtcGetCUBINSize", bytes_name[] = "nvrtcGetCUBIN";

/* The library's place in the table; -1: the table is full, or it lacks a function. */
static int compiler_place(void *library, const void *base)
{
    Lookup *lookup = system_lookup();
    Compiler new = {.base = base};
    *(void **)&new.cubin_size = lookup(library, size_name);
    *(void **)&new.ptx_size = lookup(library, "nvrtcGetPTXSize");
    *(void **)&new.ptx = lookup(library, "nvrtcGetPTX");
    if (!new.cubin_size || !new.ptx_size || !new.ptx) return -1;
    int place = 0;
    pthread_mutex_lock(&compilers_lock);
    while (place < MAX_COMPILERS && compilers[place].base && compilers[place].base != base) place++;
    if (place == MAX_COMPILERS)
        place = -1;
    else
        compilers[place] = new;
    pthread_mutex_unlock(&compilers_lock);
    return place;
}

/* ---- Which library a function is from ---- */

static const char version_name[] = "nvJitLinkVersion";
static const char compiler_file[] = "libnvrtc.", linker_file[] = "libnvJitLink.so";

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts_with(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static bool is_file(const char *path, const char *file) { return starts_with(base_name(path), file); }

static void *in_place_of_compiler(const Dl_info *found, const char *name)
{
    void *library = dlopen(found->dli_fname, RTLD_LAZY | RTLD_NOLOAD), *answer = NULL;
    int place = library ? compiler_place(library, found->dli_fbase) : -1;
    if (place >= 0 && !strcmp(name, size_name)) *(GetSize **)&answer = size_answers[place];
    if (place >= 0 && !strcmp(name, bytes_name)) *(GetBytes **)&answer = bytes_answers[place];
    if (library) dlclose(library);
    return answer;
}

/* The library here that stands in for the program's; NULL: there is none of its major version. */
static void *own_linker(const char *path)
{
    int (*version)(unsigned *major, unsigned *minor) = NULL;
    unsigned major = 0, minor = 0;
    char file[sizeof linker_file + 16];
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library) *(void **)&version = system_lookup()(library, version_name);
    bool known = version && !version(&major, &minor);
    if (library) dlclose(library);
    snprintf(file, sizeof file, "%s.%u", linker_file, major);
    return known ? open_beside_this(file) : NULL;
}

/* The function of that name in the library here, which gets the path of the program's. */
static void *in_place_of_linker(const void *function, const Dl_info *found, const char *name)
{
    void (*note)(const char *path) = NULL;
    void *ours = own_linker(found->dli_fname);
    void *answer = ours ? system_lookup()(ours, name) : NULL;
    if (!answer || answer == function) return NULL;
    *(void **)&note = system_lookup()(ours, "cpuDeviceLtoLibrary");
    if (note) note(found->dli_fname);
    return answer;
}

/* What a program gets instead of this function; NULL: nothing else. */
static void *in_place_of(void *function, const char *name)
{
    Dl_info found;
    if (!dladdr(function, &found) || !found.dli_fname) return NULL;
    if (is_file(found.dli_fname, linker_file)) return in_place_of_linker(function, &found, name);
    if (is_file(found.dli_fname, compiler_file)) return in_place_of_compiler(&found, name);
    return NULL;
}

static bool may_be_replaced(const char *name)
{
    if (starts_with(name, "nvJitLink")) return strcmp(name, version_name) != 0;
    return starts_with(name, "__nvJitLink") || starts_with(name, bytes_name);
}

/* Any other name is looked up by a jump to the C library, which goes by where its caller is (RTLD_NEXT): the
 * build optimizes this file always. */
EXPORT void *dlsym(void *handle, const char *name)
{
    if (!may_be_replaced(name)) return system_lookup()(handle, name);
    void *found = system_lookup()(handle, name);
    void *answer = found ? in_place_of(found, name) : NULL;
    return answer ? answer : found;
}

/* ---- Programs that are linked with NVRTC ---- */

static int note_compiler(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!info->dlpi_name || !is_file(info->dlpi_name, compiler_file)) return 0;
    *(const char **)path = info->dlpi_name;
    return 1;
}

/* The first library of NVRTC that the program has; NULL: none, but then who has made the program's handle? */
static const Compiler *linked_compiler(void)
{
    const char *path = NULL;
    Dl_info info;
    dl_iterate_phdr(note_compiler, (void *)&path);
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *function = library ? system_lookup()(library, size_name) : NULL;
    if (!function || !dladdr(function, &info)) return NULL;
    int place = compiler_place(library, info.dli_fbase);
    return place < 0 ? NULL : &compilers[place];
}

enum { NVRTC_ERROR_INVALID_PROGRAM = 4 };

EXPORT int nvrtcGetCUBINSize(void *program, size_t *size);
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size)
{
    const Compiler *compiler = linked_compiler();
    return compiler ? answer_size(compiler, program, size) : NVRTC_ERROR_INVALID_PROGRAM;
}

EXPORT int nvrtcGetCUBIN(void *program, char *bytes);
EXPORT int nvrtcGetCUBIN(void *program, char *bytes)
{
    const Compiler *compiler = linked_compiler();
    return compiler ? answer_bytes(compiler, program, bytes) : NVRTC_ERROR_INVALID_PROGRAM;
}

/* ---- Programs that open the CUDA runtime by its path ---- */

/* Libraries of this folder. NVIDIA's have these names, or these and more of the version. */
static const char *const runtimes[] = {"libcudart.so.12", "libcudart.so.13"};

/* Which of these the file is, where links lead to another name; NULL: none. */
static const char *runtime_of(const char *path)
{
    char *file = realpath(path, NULL);
    const char *base = file ? base_name(file) : "", *found = NULL;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        size_t length = strlen(runtimes[i]);
        if (!strncmp(base, runtimes[i], length) && (!base[length] || base[length] == '.'))
            found = runtimes[i];
    }
    free(file);
    return found;
}

/* Not inlined: without its path on the stack dlopen() below ends in a jump. */
__attribute__((noinline)) static void *open_runtime(const char *path, int mode)
{
    char own[PATH_MAX];
    const char *runtime = runtime_of(path);
    bool fits = runtime && path_beside_this(runtime, own, sizeof own) < sizeof own;
    return system_open()(fits ? own : path, mode);
}

static bool is_path_of_runtime(const char *path)
{
    return path && strchr(path, '/') && starts_with(base_name(path), "libcudart.so");
}

/* A name without a folder is found by LD_LIBRARY_PATH. Anything else is opened by a jump to the C library, as
 * in dlsym(): it searches the folders that the caller names (RPATH, RUNPATH). */
EXPORT void *dlopen(const char *path, int mode)
{
    return is_path_of_runtime(path) ? open_runtime(path, mode) : system_open()(path, mode);
}
