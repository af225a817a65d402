/* Arrays of other libraries among the arguments of functions whose bodies are Python. */
#ifndef EXT_GPUARRAY_FOREIGN_ARGUMENTS_H
#define EXT_GPUARRAY_FOREIGN_ARGUMENTS_H

#include "ext/gpuarray/foreign_view.h"

/* Whether some of the values, or of what lists, tuples and dicts among them hold, may be such arrays. */
bool foreign_among(ModuleState *state, PyObject *const *values, Py_ssize_t count);

/* Calls the function with views of such arrays in their place (foreign_view.h), made for work on the stream
 * that is among the values. What it gives back of these views is again what was passed. NULL with an
 * exception. */
PyObject *foreign_call(ModuleState *state, PyObject *function, FAST_PARAMETERS);

/* Calls a function whose body is Python. A stream among the arguments is the current one meanwhile: what the
 * body copies and allocates without a word of streams is for that one, too. */
PyObject *stream_call(ModuleState *state, PyObject *function, FAST_PARAMETERS);

#endif
