/* The CPU device of a process is the first that it has loaded: pycuda takes that one, and any other refuses
 * to be initialized. Both sides find it by this function, which takes the lock of dlopen: its caller may hold
 * no lock that a library's constructor could wait for. */
#ifndef ABI_LOADED_CPU_DEVICE_H
#define ABI_LOADED_CPU_DEVICE_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct LoadedSearch {
    size_t skipped; /* how many libraries of the name come first */
    char path[PATH_MAX];
} LoadedSearch;

/* Whether the path is that of a file libcuda.so, libcuda.so.1, ... */
static inline bool is_driver_path(const char *path)
{
    static const char name[] = "libcuda.so";
    const char *slash = strrchr(path, '/');
    return !strncmp(slash ? slash + 1 : path, name, sizeof name - 1);
}

static inline int match_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    LoadedSearch *search = context;
    if (!is_driver_path(info->dlpi_name) || search->skipped--) return 0;
    snprintf(search->path, sizeof search->path, "%s", info->dlpi_name);
    return 1;
}

/* The path of the CPU device that this process has loaded first, as dladdr() writes it; false: there is none.
 */
static inline bool first_cpu_device(char path[PATH_MAX])
{
    for (size_t count = 0;; count++) { /* in the order in which they were loaded */
        LoadedSearch search = {.skipped = count};
        if (!dl_iterate_phdr(match_loaded, &search)) return false;
        void *library = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue; /* closed meanwhile */
        void *found = dlsym(library, "cpuDeviceTable");
        dlclose(library); /* the CPU device is never unloaded */
        Dl_info info;
        if (!found || !dladdr(found, &info)) continue;
        snprintf(path, PATH_MAX, "%s", info.dli_fname); /* dlsym also looks in what a library depends on */
        return true;
    }
}

#endif
