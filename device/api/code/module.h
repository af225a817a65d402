/* Modules and functions: PTX made into code for one context. */
#ifndef DEVICE_API_CODE_MODULE_H
#define DEVICE_API_CODE_MODULE_H

#include "api/code/image.h"
#include "api/context/context.h"
#include "api/texture/reference.h"
#include "exec/code/code.h"

struct CUmod_st {
    Object object;
    CodeModule *code;                   /* owned: of all its PTX texts; NULL if they did not compile */
    Function **functions;               /* of its kernels: handles, which module_unload() makes invalid */
    unsigned function_count;
    TexRef **references; /* a reference each: one for each of code->references, in their order */
    Library *library; /* the one that has loaded it, or NULL */
};

/* The attributes of a kernel that can be set. */
typedef struct FunctionSettings {
    _Atomic int dynamic_shared; /* maximum of a launch, in bytes; -1: the default */
    _Atomic int carveout; /* percent; -1: the default */
    _Atomic int cluster[3]; /* blocks of a cluster, if the kernel names none; 0: not set */
    _Atomic int large_clusters; /* 1: clusters of more than 8 blocks are allowed */
    _Atomic int cluster_policy;
} FunctionSettings;

typedef struct LegacyLaunch LegacyLaunch;

struct CUfunc_st {
    Object object;
    Module *module; /* a reference */
    const CodeFunction *code;
    FunctionSettings settings;
    LegacyLaunch *legacy_launch; /* owned: what cuLaunch will use (legacy_launch.c), or NULL */
};

/* Loads the image's parts as one module of the context, published; *out is a new reference. `library`: the
 * one that the module is of, or NULL. After an error the log says why. */
CUresult module_load(Context *context, const Image *image, Library *library, PtxLog *log, Module **out);
/* One tree of all parts, and of the runtime library if one of them needs it. NULL if there are no parts, one
 * of them cannot be parsed, or they cannot be linked; then the log says why. */
PtxModule *module_join(const Image *image, const PtxOptions *limits, PtxLog *log);
/* The error code for the log of a failed compilation. */
CUresult module_result(const PtxLog *log);
/* Takes the module and its functions out of the registry; its code is freed when nothing runs it. False if
 * another thread has taken the module out. */
bool module_unload(Module *module);
/* What each of the module's texture and surface references is bound to now: an array that the caller frees.
 * NULL if the module has none, or if out of memory. */
TextureBinding *module_bind_references(const Module *module);
/* The variable that the module defines under that name; NULL if it defines none. */
const CodeGlobal *module_global(const Module *module, const char *name);
/* The handle of the module's kernel with that name; NULL if there is none. */
Function *module_function(const Module *module, const char *name);

/* The function of a CUfunction, or of a CUkernel in the current context, with a reference. */
CUresult function_enter(CUfunction handle, Function **out);
/* The attributes of a kernel, which cuFunc* and cuKernel* calls share. */
CUresult function_attribute(const CodeFunction *code, const FunctionSettings *settings,
                            CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(const CodeFunction *code, FunctionSettings *settings,
                                CUfunction_attribute attribute, int value);
/* CpuDeviceTable.parameter_kind. */
CpuParameterKind function_parameter_kind(CUfunction handle, size_t index);
/* Where a parameter is in the parameter buffer, and its size (`size` may be NULL). */
CUresult function_param_info(const CodeFunction *code, size_t index, size_t *offset, size_t *size);
/* The maximum number of threads of a block. */
int function_max_threads(const CodeFunction *code);
/* The maximum dynamic shared memory of a block. */
int function_max_dynamic_shared(const CodeFunction *code, const FunctionSettings *settings);

/* The function of a kernel handle in the current context, with a reference (library.c). */
CUresult kernel_function(const void *handle, Function **out);

/* The options of a load or a link that are used. The pointers are the caller's; NULL: not given. */
typedef struct JitOptions {
    char *info, *error; /* log buffers */
    size_t info_size, error_size; /* their sizes */
    void **info_size_out, **error_size_out; /* get the lengths of what was written */
    void **wall_time_out; /* gets the time since `started`, a float of milliseconds */
    double started; /* seconds of CLOCK_MONOTONIC */
    CodeOptions code;
} JitOptions;

/* An error for an unknown option or an invalid value. */
CUresult jit_options_read(JitOptions *options, unsigned count, const CUjit_option *names, void **values);
/* Copies the log to the caller's buffer for errors and to the driver's log if `result` is an error, else to
 * the caller's buffer for information. */
void jit_options_answer(JitOptions *options, CUresult result, const PtxLog *log);

#endif
