/* Temporaries of CPython's interpreter: in `a * b + c` only its stack refers to the product, which ends with
 * the sum.
 *
 * PyUnstable_Object_IsUniqueReferencedTemporary() alone does not say that: a function in C (of Cython, for
 * one) gets its arguments from the stack, too, and may compute with an argument twice. So it has to be the
 * interpreter itself that applies the operator, to the very operands: its instruction and its stack say so.
 * Both are read by the layout of CPython 3.14's frames. Its later versions may have another one, and there is
 * none for the versions before, where every object counts as referenced. */
#ifndef EXT_BASE_TEMPORARY_H
#define EXT_BASE_TEMPORARY_H

#include "ext/base/ext.h"

/* A CPython may be installed without its internal headers. */
#if PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x030F0000 \
    && __has_include(<internal/pycore_debug_offsets.h>)
#define FRAMES_ARE_DESCRIBED 1
#else
#define FRAMES_ARE_DESCRIBED 0
#endif

#if FRAMES_ARE_DESCRIBED

/* Whether the operand, left or right, ends when the interpreter has applied its operator: this thread's
 * interpreter is at `left OP right`, or at `OP left` if right is NULL, and nothing else refers to the
 * operand. That holds only if no slot of the operands' types applies another operator to the same operands.
 * May be false where it would be true. */
bool temporary_ends(PyObject *operand, PyObject *left, PyObject *right);

#else

static inline bool temporary_ends(PyObject *Py_UNUSED(operand), PyObject *Py_UNUSED(left),
                                  PyObject *Py_UNUSED(right))
{
    return false;
}

#endif

#endif
