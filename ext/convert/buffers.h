/* Host memory lent by a Python object, for the length of a call or of a transfer.
 *
 * Any object with the buffer protocol that is C- or F-contiguous; the bytes count in memory order. NumPy
 * arrays are read directly, so dtypes that the protocol cannot describe work too.
 */
#ifndef EXT_CONVERT_BUFFERS_H
#define EXT_CONVERT_BUFFERS_H

#include "ext/base/ext.h"

struct tagPyArrayObject;

typedef struct HostBuffer {
    void *pointer;
    size_t size;
    PyObject *owner; /* a reference that keeps the memory, the object or its memoryview; NULL when empty */
} HostBuffer;

/* *out: the object's memory, to be released. -1 with BufferError, ValueError or TypeError when the object has
 * no contiguous memory, or, for buffers_write(), none that may be written to. */
int buffers_read(PyObject *object, const char *what, HostBuffer *out);
int buffers_write(PyObject *object, const char *what, HostBuffer *out);

/* A memoryview of an object with the buffer protocol. NULL with TypeError for other objects. */
PyObject *buffers_view(PyObject *object, const char *what);
/* -1 with an exception when the array does not hold bytes that devices understand, or, if it is to be
 * writable, is read-only. */
int buffers_check_array(struct tagPyArrayObject *array, const char *what, bool writable);

/* Copies a buffer of exactly this size to `out`. -1 with an exception: LogicError, which names `whose` bytes
 * they are, for another size. */
int buffers_copy_exactly(ModuleState *state, PyObject *object, const char *what, const char *whose, void *out,
                         size_t size);

/* As buffers_read(), for strided memory too: the bytes in logical C order. They are copied, except those of a
 * C-contiguous array. */
int buffers_read_logical(PyObject *object, const char *what, HostBuffer *out);

void buffers_release(HostBuffer *buffer);

#endif
