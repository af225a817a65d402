/* Small Python ints, read directly from the object: most of a launch's grid, block and arguments are such. */
#ifndef EXT_CONVERT_PLAIN_INT_H
#define EXT_CONVERT_PLAIN_INT_H

#include "ext/base/ext.h"

#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

/* *out: the value of an int of one digit, which has at most 30 bits. False for all other objects, and *out is
 * unchanged. */
static inline bool plain_int(PyObject *object, long *out)
{
    if (!PyLong_CheckExact(object)) return false;
    const PyLongObject *number = (const PyLongObject *)object;
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact(number)) return false;
    *out = (long)PyUnstable_Long_CompactValue(number);
#else
    Py_ssize_t digits = Py_SIZE(object);
    if (digits < -1 || digits > 1) return false;
    *out = digits ? digits * (long)number->ob_digit[0] : 0;
#endif
    return true;
}

#endif
