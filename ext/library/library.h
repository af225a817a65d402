/* NVIDIA's mathematical libraries: loaded when first asked for (abi/library_functions.def). */
#ifndef EXT_LIBRARY_LIBRARY_H
#define EXT_LIBRARY_LIBRARY_H

#include "ext/base/driver_calls.h"

/* Whether a function can be called. False with an exception: its library is not loaded or is too old to have
 * the function, or the driver takes no calls from this thread or process. */
bool library_is_callable(ModuleState *state, LibraryFn function);

/* 0 if the status is success, else -1 with a LibraryError. */
int library_raise_unless(ModuleState *state, LibraryFn function, int status);

/* Typed calls, one a row:
 *
 *   lib_name(state, ...)    0, or -1 with the exception
 *   end_name(state, ...)    the status, for a release, in a ContextScope
 *
 * A library may wait, allocate and load code in any call, so all are made without the GIL: what was read from
 * shared objects before is to be owned or read again. They use the thread's current context. */
#define LIB_FN(library, name, params, args) \
    static inline int end_##name WITH_STATE(params, args) \
    { \
        int status; \
        WITHOUT_GIL(status = ((int(*) params)self->libraries.functions[LIB_FN_##name])args); \
        return status; \
    } \
    static inline int lib_##name WITH_STATE(params, args) \
    { \
        if (!library_is_callable(self, LIB_FN_##name)) return -1; \
        return library_raise_unless(self, LIB_FN_##name, end_##name WITH_SELF(args)); \
    }
#include "abi/library_functions.def"
#undef LIB_FN

#endif
