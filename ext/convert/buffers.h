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

/* -1 with BufferError, ValueError or TypeError when the object lends no contiguous memory, or none to write.
 */
int buffers_read(PyObject *object, const char *what, HostBuffer *out);
int buffers_write(PyObject *object, const char *what, HostBuffer *out);

/* Parts of these: a memoryview of other buffers, NULL with TypeError; and whether an array holds bytes
 * that devices understand, -1 with an exception. */
PyObject *buffers_view(PyObject *object, const char *what);
int buffers_check_array(struct tagPyArrayObject *array, const char *what, bool writable);

/* Copies a buffer of exactly this size to `out`. -1 with an exception: LogicError for another size of `whose`
 * bytes. */
int buffers_copy_exactly(ModuleState *state, PyObject *object, const char *what, const char *whose, void *out,
                         size_t size);

/* A copy of any buffer, strided ones too, in logical C order when it was not contiguous in C order. */
int buffers_read_logical(PyObject *object, const char *what, HostBuffer *out);

void buffers_release(HostBuffer *buffer);

#endif
