/* Modules and functions: PTX made into code for one context. */
#ifndef DEVICE_API_CODE_MODULE_H
#define DEVICE_API_CODE_MODULE_H

#include "api/code/image.h"
#include "api/context/context.h"
#include "api/texture/reference.h"
#include "exec/code/code.h"

struct CUmod_st {
    Object object;
    CodeModule *code;                   /* of all its PTX texts; NULL when they did not compile */
    Function **functions;               /* the kernels: handles that live as long as the module */
    unsigned function_count;
    TexRef **references;             /* one for each of code->references, in their order */
    Library *library;                   /* that made it, or NULL */
};

/* What can be set of a kernel. */
typedef struct FunctionSettings {
    _Atomic int dynamic_shared;         /* maximum of a launch, -1: the default */
    _Atomic int carveout;
    _Atomic int cluster[3];             /* blocks of a cluster where the kernel names none; 0: not set */
    _Atomic int large_clusters;         /* those of more than 8 blocks are allowed */
    _Atomic int cluster_policy;
} FunctionSettings;

typedef struct LegacyLaunch LegacyLaunch;

struct CUfunc_st {
    Object object;
    Module *module;                     /* a reference */
    const CodeFunction *code;
    FunctionSettings settings;
    LegacyLaunch *legacy_launch;               /* what cuLaunch will use (legacy_launch.c), or NULL */
};

/* Loads the parts for the context; the log says why not. *out gets a reference. */
CUresult module_load(Context *context, const Image *image, Library *library, PtxLog *log, Module **out);
/* The error that a log describes. */
CUresult module_result(const PtxLog *log);
/* Takes the module and its functions out of the registry; its code goes when nothing runs it. */
bool module_unload(Module *module);
/* What each of the module's texture and surface references is bound to now: an array that the caller frees.
 * NULL if the module has none, or if out of memory. */
TextureBinding *module_bind_references(const Module *module);
/* The variable that the module defines under that name; NULL if it defines none. */
const CodeGlobal *module_global(const Module *module, const char *name);
Function *module_function(const Module *module, const char *name);

/* The function of a CUfunction, or of a CUkernel in the current context, with a reference. */
CUresult function_enter(CUfunction handle, Function **out);
/* The attributes of a kernel, shared by CUfunction and CUkernel. */
CUresult function_attribute(const CodeFunction *code, const FunctionSettings *settings,
                            CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(const CodeFunction *code, FunctionSettings *settings,
                                CUfunction_attribute attribute, int value);
CpuParameterKind function_parameter_kind(CUfunction handle, size_t index);
CUresult function_param_info(const CodeFunction *code, size_t index, size_t *offset, size_t *size);
/* The maximum number of threads of a block. */
int function_max_threads(const CodeFunction *code);
/* The maximum dynamic shared memory of a block. */
int function_max_dynamic_shared(const CodeFunction *code, const FunctionSettings *settings);

/* The function of a kernel handle in the current context, with a reference (library.c). */
CUresult kernel_function(const void *handle, Function **out);

/* Options of the driver's compiler: where the logs go, and what code is wanted. */
typedef struct JitOptions {
    char *info, *error;
    size_t info_size, error_size;
    void **info_size_out, **error_size_out, **wall_time_out;
    double started;
    CodeOptions code;
} JitOptions;

CUresult jit_options_read(JitOptions *options, unsigned count, const CUjit_option *names, void **values);
/* Copies the log to the caller's buffers (error log when the result is an error) and to the driver's log. */
void jit_options_answer(JitOptions *options, CUresult result, const PtxLog *log);

#endif
