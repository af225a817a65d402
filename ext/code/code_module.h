/* Loaded code: the Module object (ext/context/module_object.h) is made here. */
#ifndef EXT_CODE_CODE_MODULE_H
#define EXT_CODE_CODE_MODULE_H

#include "ext/context/module_object.h"

/* Loads an image of `size` bytes: PTX that ends with NUL, a cubin or a fatbin. NULL with an exception. */
PyObject *code_module_load(ModuleState *state, const void *image, size_t size, PyObject *options,
                           PyObject *message_handler, const char *routine);

/* Raises that the module has no kernel of this name. The message lists the module's kernels, and says what to
 * do if the name is the C++ name of one. Returns NULL. */
PyObject *raise_no_kernel(CodeModuleObject *module, CUresult result, const char *name);

/* False with an exception if the image in the bytes is truncated, or declares sizes that it does not have. */
bool code_check_image(ModuleState *state, PyObject *bytes, const char *routine);

/* Options for the driver's compiler: the caller's, and the two logs that are always asked for. */
enum { JIT_LOG_BYTES = 32768, JIT_MAX_OPTIONS = 64 };

typedef struct JitRequest {
    unsigned count;
    CUjit_option options[JIT_MAX_OPTIONS];
    void *values[JIT_MAX_OPTIONS];
    unsigned info_index, error_index; /* where the sizes of the logs are in `values`: the driver sets them */
    char *info, *error; /* owned, one block: the logs, of up to JIT_LOG_BYTES and a NUL each */
} JitRequest;

/* options: NULL, None or an iterable of (jit_option, int). -1 with an exception: then jit_request_close()
 * need not be called. */
int jit_request_open(JitRequest *request, PyObject *options, bool log_verbose);
void jit_request_close(JitRequest *request);

/* Calls message_handler(ok, info, error); None and NULL are not handlers. -1 with its exception. */
int jit_request_call_handler(JitRequest *request, PyObject *message_handler, bool ok);

#endif
