/* See library_table.h. */
#include "core/library_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const LibraryRow library_rows[LIB_FN_COUNT] = {
#define LIB_FN(library, name, params, args) {#name, #params, LIBRARY_##library},
#include "abi/library_functions.def"
#undef LIB_FN
};

static const char *const library_names[LIBRARY_COUNT] = {
#define LIBRARY(library, name) #name,
#define LIB_STATUS(library, code, name)
#include "abi/libraries.def"
#undef LIBRARY
#undef LIB_STATUS
};

static const struct StatusRow {
    LibraryId library;
    int code;
    const char *name;
} statuses[] = {
#define LIBRARY(library, name)
#define LIB_STATUS(library, code, name) {LIBRARY_##library, code, #name},
#include "abi/libraries.def"
#undef LIBRARY
#undef LIB_STATUS
};

int library_find(const char *name)
{
    for (int row = 0; row < LIBRARY_COUNT; row++)
        if (strcmp(library_names[row], name) == 0) return row;
    return -1;
}

int library_find_function(const char *name)
{
    for (int row = 0; row < LIB_FN_COUNT; row++)
        if (strcmp(library_rows[row].name, name) == 0) return row;
    return -1;
}

bool library_load(LibraryTable *table, LibraryId library, const char *path, char *problem,
                  size_t problem_size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int found = 0;
    if (!handle) {
        snprintf(problem, problem_size, "%s", dlerror());
        return false;
    }
    for (int row = 0; row < LIB_FN_COUNT; row++) {
        if (library_rows[row].library != library) continue;
        table->functions[row] = (LibraryAddress)dlsym(handle, library_rows[row].name);
        found += table->functions[row] != NULL;
    }
    if (!found) {
        snprintf(problem, problem_size, "%s has none of the functions of %s", path, library_names[library]);
        dlclose(handle);
        return false;
    }
    table->handles[library] = handle;
    return true;
}

const char *library_status_name(LibraryId library, int status)
{
    for (size_t row = 0; row < sizeof statuses / sizeof *statuses; row++)
        if (statuses[row].library == library && statuses[row].code == status) return statuses[row].name;
    return NULL;
}
