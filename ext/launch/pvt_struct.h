/* Python values to and from packed bytes, one format code at a time (core/pack_format.h). */
#ifndef EXT_LAUNCH_PVT_STRUCT_H
#define EXT_LAUNCH_PVT_STRUCT_H

#include "core/pack_format.h"
#include "ext/base/ext.h"

/* Reads a format from a str or bytes. -1 with PackError or TypeError. */
int pack_read_format(ModuleState *state, PyObject *text, PackFormat *out);

/* Writes one value of this code: `length` bytes for s and p, else the code's size. -1 with PackError. */
int pack_write(ModuleState *state, const PackCode *code, size_t length, PyObject *value, unsigned char *out);

/* Reads one value. NULL with an exception. */
PyObject *pack_read(const PackCode *code, size_t length, const unsigned char *in);

#endif
