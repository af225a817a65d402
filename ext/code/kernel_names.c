/* The message for a module without a kernel of the wanted name. */
#include <stdio.h>
#include <string.h>

#include "ext/base/errors.h"
#include "ext/code/code_module.h"

enum { LIST_BYTES = 400 }; /* of names in a message: a few lines */

/* Whether the mangled name contains this name as a part, before which its length is written in digits. */
static bool is_mangled(const char *mangled, const char *name)
{
    char part[256];
    int length = snprintf(part, sizeof part, "%zu%s", strlen(name), name);
    if (strncmp(mangled, "_Z", 2) != 0 || length >= (int)sizeof part) return false;
    const char *found = strstr(mangled, part);
    return found && (found[-1] < '0' || found[-1] > '9');
}

/* The first kernel's name that is a mangled form of this name; NULL when there is none. */
static const char *mangled_form(const ParamCounts *counts, const char *name)
{
    for (const ParamCount *each = counts->first; each; each = each->next)
        if (is_mangled(each->name, name)) return each->name;
    return NULL;
}

/* The names with commas between them; those that do not fit are left out. */
static void list_names(const ParamCounts *counts, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (const ParamCount *each = counts->first; each; each = each->next) {
        int more = snprintf(list + used, size - used, "%s%s", used ? ", " : "", each->name);
        if (more < (int)(size - used - sizeof ", ...")) {
            used += (size_t)more;
            continue;
        }
        snprintf(list + used, size - used, "%s", used ? ", ..." : "...");
        return;
    }
}

PyObject *raise_no_kernel(CodeModuleObject *module, CUresult result, const char *name)
{
    char list[LIST_BYTES];
    const char *mangled = mangled_form(&module->counts, name);
    list_names(&module->counts, list, sizeof list);
    if (result != CUDA_ERROR_NOT_FOUND || !list[0])
        return raise_driver(module->state, result, "cuModuleGetFunction", "kernel '%s'", name);
    if (!mangled)
        return raise_driver(module->state, result, "cuModuleGetFunction",
                            "kernel '%s'; the module's kernels are: %s", name, list);
    return raise_driver(module->state, result, "cuModuleGetFunction",
                        "kernel '%s' has the mangled name %s: declare it extern \"C\" __global__, or pass "
                        "SourceModule(..., name_expressions=[\"%s\"]). The module's kernels are: %s",
                        name, mangled, name, list);
}
