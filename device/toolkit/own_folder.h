/* Libraries in the folder of this one. */
#ifndef DEVICE_TOOLKIT_OWN_FOLDER_H
#define DEVICE_TOOLKIT_OWN_FOLDER_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The path of that name in the folder of the calling library, cut where size ends; its whole length. */
static inline size_t path_beside_this(const char *name, char *path, size_t size)
{
    static const char here; /* its address is in this library */
    Dl_info info;
    const char *slash = dladdr(&here, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    int folder = slash ? (int)(slash - info.dli_fname) : 0;
    return (size_t)snprintf(path, size, "%.*s%s%s", folder, folder ? info.dli_fname : "", folder ? "/" : "",
                            name);
}

/* Opens the library of that name in the folder of the calling one; NULL: there is none, and dlerror() says
 * why. */
static inline void *open_beside_this(const char *name)
{
    char path[PATH_MAX];
    size_t length = path_beside_this(name, path, sizeof path);
    return length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

#endif
