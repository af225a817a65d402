/* Libraries in the folder of this one. */
#ifndef DEVICE_TOOLKIT_OWN_FOLDER_H
#define DEVICE_TOOLKIT_OWN_FOLDER_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Opens the library of that name in the folder of the calling one; NULL: there is none, and dlerror() says
 * why. */
static inline void *open_beside_this(const char *name)
{
    static const char here; /* its address is in this library */
    char path[PATH_MAX];
    Dl_info info;
    const char *slash = dladdr(&here, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    int folder = slash ? (int)(slash - info.dli_fname) : 0;
    int length = snprintf(path, sizeof path, "%.*s%s%s", folder, folder ? info.dli_fname : "",
                          folder ? "/" : "", name);
    return length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

#endif
