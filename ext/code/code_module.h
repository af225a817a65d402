/* Loaded code: the Module object (ext/context/module_object.h) is made here. */
#ifndef EXT_CODE_CODE_MODULE_H
#define EXT_CODE_CODE_MODULE_H

#include "ext/context/module_object.h"

/* Loads an image of `size` bytes: PTX that ends with NUL, a cubin or a fatbin. NULL with an exception. */
PyObject *code_module_load(ModuleState *state, const void *image, size_t size, PyObject *options,
                           PyObject *message_handler, const char *routine);

/* Raises that the module has no kernel of this name. The message lists those that it has, and says what to
 * do if one of them has this name in C++. Returns NULL. */
PyObject *raise_no_kernel(CodeModuleObject *module, CUresult result, const char *name);

/* False with an exception if the image in the bytes is truncated, or declares sizes that it does not have. */
bool code_check_image(ModuleState *state, PyObject *bytes, const char *routine);

/* Options for the driver's compiler: the caller's, and the two logs that are always asked for. */
enum { JIT_LOG_BYTES = 32768, JIT_MAX_OPTIONS = 64 };

typedef struct JitRequest {
    unsigned count;
    CUjit_option options[JIT_MAX_OPTIONS];
    void *values[JIT_MAX_OPTIONS];
    unsigned info_index, error_index; /* of the two sizes, which the driver overwrites */
    char *info, *error; /* owned, JIT_LOG_BYTES each, always ending with NUL */
} JitRequest;

/* options: NULL, None or an iterable of (jit_option, int). -1 with an exception, and then nothing is to be
 * freed. */
int jit_request_open(JitRequest *request, PyObject *options, bool log_verbose);
void jit_request_close(JitRequest *request);

/* Calls message_handler(ok, info, error); None and NULL are not handlers. -1 with its exception. */
int jit_request_call_handler(JitRequest *request, PyObject *message_handler, bool ok);

#endif
