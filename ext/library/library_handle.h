/* What a library makes and works with: a handle, or a plan of cuFFT's; and the workspace that its kernels use
 * on one stream. */
#ifndef EXT_LIBRARY_LIBRARY_HANDLE_H
#define EXT_LIBRARY_LIBRARY_HANDLE_H

#include "ext/base/ext.h"

/* False when the value is no _LibraryHandle. True otherwise: *out is the library's handle, unless an
 * exception is set, as its context is gone. */
bool library_handle_value(ModuleState *state, PyObject *value, uint64_t *out);

#endif
