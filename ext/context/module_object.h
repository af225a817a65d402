/* A loaded module as its functions and texture references know it (ext/code/). */
#ifndef EXT_CONTEXT_MODULE_OBJECT_H
#define EXT_CONTEXT_MODULE_OBJECT_H

#include "core/param_counts.h"
#include "ext/context/owner.h"

typedef struct CodeModuleObject {
    OWNER_HEAD
    CUmodule handle;
    ParamCounts counts;         /* owned: of its kernels' parameters, as far as its image has them */
    struct References
        *references; /* owned: the texture and surface references; NULL until one is requested */
} CodeModuleObject;

static inline CodeModuleObject *code_module_cast(PyObject *object) { return (CodeModuleObject *)object; }

#endif
