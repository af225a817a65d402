/* The constants of abi/cuda_enums.def as Python classes. */
#ifndef EXT_BASE_CONSTANTS_H
#define EXT_BASE_CONSTANTS_H

#include "ext/base/ext.h"

/* The member of a class of constants that has this value, or a plain int where there is none. NULL with an
 * exception. A new reference. */
PyObject *constants_member(ModuleState *state, PyObject *cls, long value);

#endif
