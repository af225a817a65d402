/* Options for the driver's compiler and linker, with the two logs that are always asked for. */
#include <stdlib.h>
#include <string.h>

#include "ext/code/code_module.h"
#include "ext/convert/convert.h"

/* How many options the caller may give: the others are for what jit_request_open() adds. */
enum { CALLERS_MAX_OPTIONS = JIT_MAX_OPTIONS - 8 };

static void add_option(JitRequest *request, CUjit_option option, uintptr_t value)
{
    request->options[request->count] = option;
    request->values[request->count++] = (void *)value;
}

/* Adds an option of the caller, (jit_option, int). The options of the logs are ignored: the logs are always
 * read, for the exception and the handler. -1 with an exception. */
static int add_pair(JitRequest *request, PyObject *pair)
{
    PyObject *items = convert_items(pair, "options must hold (jit_option, int) pairs");
    unsigned option;
    size_t value;
    if (!items) return -1;
    int failed = PySequence_Fast_GET_SIZE(items) != 2;
    if (failed)
        PyErr_SetString(PyExc_ValueError, "options must hold (jit_option, int) pairs");
    else
        failed = convert_unsigned(PySequence_Fast_GET_ITEM(items, 0), "a jit_option", &option) < 0
                 || convert_size(PySequence_Fast_GET_ITEM(items, 1), "the value of a jit_option", &value) < 0;
    Py_DECREF(items);
    if (failed) return -1;
    if (option >= CU_JIT_INFO_LOG_BUFFER && option <= CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) return 0;
    if (request->count == CALLERS_MAX_OPTIONS) {
        PyErr_Format(PyExc_ValueError, "more than %d options", CALLERS_MAX_OPTIONS);
        return -1;
    }
    add_option(request, option, value);
    return 0;
}

static int add_all(JitRequest *request, PyObject *options)
{
    PyObject *items = convert_items(options, "options must be an iterable of (jit_option, int) pairs");
    if (!items) return -1;
    int failed = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items) && !failed; i++)
        failed = add_pair(request, PySequence_Fast_GET_ITEM(items, i));
    Py_DECREF(items);
    return failed;
}

int jit_request_open(JitRequest *request, PyObject *options, bool log_verbose)
{
    request->count = 0;
    request->info = request->error = NULL;
    if (options && options != Py_None && add_all(request, options) < 0) return -1;
    request->info = PyMem_Calloc(1, 2 * (JIT_LOG_BYTES + 1));
    if (!request->info) {
        PyErr_NoMemory();
        return -1;
    }
    request->error = request->info + JIT_LOG_BYTES + 1;
    add_option(request, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)request->info);
    request->info_index = request->count;
    add_option(request, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, JIT_LOG_BYTES);
    add_option(request, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)request->error);
    request->error_index = request->count;
    add_option(request, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, JIT_LOG_BYTES);
    if (log_verbose) add_option(request, CU_JIT_LOG_VERBOSE, 1);
    return 0;
}

void jit_request_close(JitRequest *request)
{
    PyMem_Free(request->info);
    request->info = request->error = NULL;
}

int jit_request_call_handler(JitRequest *request, PyObject *message_handler, bool ok)
{
    if (!message_handler || message_handler == Py_None) return 0;
    PyObject *info = PyUnicode_DecodeUTF8(request->info, (Py_ssize_t)strlen(request->info), "replace");
    PyObject *error = PyUnicode_DecodeUTF8(request->error, (Py_ssize_t)strlen(request->error), "replace");
    PyObject *answer = NULL;
    if (info && error)
        answer = PyObject_CallFunctionObjArgs(message_handler, ok ? Py_True : Py_False, info, error, NULL);
    Py_XDECREF(info);
    Py_XDECREF(error);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}
