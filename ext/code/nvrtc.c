/* NVRTC for Python: opening a library and compiling with it. What to compile, and what to say when it fails,
 * is the business of pycuda.compiler; nothing is raised here for a source that does not compile. */
#include <string.h>

#include "ext/base/gate.h"
#include "ext/code/code_module.h"
#include "ext/code/compilation.h"
#include "ext/convert/convert.h"

static const char table_name[] = "pycuda._driver.nvrtc";

static void free_table(PyObject *capsule) { PyMem_Free(PyCapsule_GetPointer(capsule, table_name)); }

PyDoc_STRVAR(nvrtc_open_doc, "_nvrtc_open(path, /)\n--\n\n"
                             "Load the NVRTC library at this path, which _nvrtc_compile then uses.\n"
                             "\nParameters\n----------\n"
                             "path : str\n"
                             "\nReturns\n-------\n"
                             "(major, minor) : tuple of int\n    Its version.\n"
                             "\nRaises\n------\n"
                             "OSError\n    It cannot be loaded; the library opened before stays in use.");

static PyObject *nvrtc_open(PyObject *module, PyObject *path)
{
    char problem[512];
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
    NvrtcTable *table = PyMem_Malloc(sizeof *table);
    const char *name = PyBytes_AS_STRING(bytes);
    bool loaded = false;
    if (table) WITHOUT_GIL(loaded = nvrtc_load(table, name, problem, sizeof problem));
    Py_DECREF(bytes);
    PyObject *capsule = loaded ? PyCapsule_New(table, table_name, free_table) : NULL;
    if (!capsule) {
        if (!table)
            PyErr_NoMemory();
        else if (!loaded)
            PyErr_Format(PyExc_OSError, "%s", problem);
        PyMem_Free(table);
        return NULL;
    }
    Py_XSETREF(module_state(module)->nvrtc, capsule);
    return Py_BuildValue("(ii)", table->major, table->minor);
}

static void clear_strings(StringList *list)
{
    PyMem_Free(list->strings);
    Py_XDECREF(list->owner);
    *list = (StringList){0};
}

/* The characters of a str or bytes object. The list `owner` keeps the bytes object that they point into. NULL
 * with an exception. */
static const char *hold_string(PyObject *owner, PyObject *item)
{
    PyObject *bytes = PyUnicode_Check(item) ? PyUnicode_AsEncodedString(item, "utf-8", "surrogateescape")
                                            : PyBytes_FromObject(item);
    if (!bytes) return NULL;
    bool has_nul = strlen(PyBytes_AS_STRING(bytes)) != (size_t)PyBytes_GET_SIZE(bytes);
    if (has_nul) PyErr_SetString(PyExc_ValueError, "embedded null character in the text for the compiler");
    int failed = has_nul || PyList_Append(owner, bytes) < 0;
    const char *text = PyBytes_AS_STRING(bytes);
    Py_DECREF(bytes);
    return failed ? NULL : text;
}

/* *out: the strings of an iterable of str or bytes. -1 with an exception. */
static int read_strings(PyObject *items, StringList *out)
{
    *out = (StringList){0};
    PyObject *sequence = convert_items(items, "options and expressions must be sequences");
    if (!sequence) return -1;
    out->count = (int)PySequence_Fast_GET_SIZE(sequence);
    out->strings = PyMem_Calloc((size_t)out->count + 1, sizeof *out->strings);
    out->owner = PyList_New(0);
    int failed = !out->strings || !out->owner;
    for (int i = 0; i < out->count && !failed; i++)
        failed = !(out->strings[i] = hold_string(out->owner, PySequence_Fast_GET_ITEM(sequence, i)));
    Py_DECREF(sequence);
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    if (failed) clear_strings(out);
    return failed ? -1 : 0;
}

static int read_output(PyObject *want, NvrtcOutput *out)
{
    static const char *const names[] = {"ptx", "cubin"};
    for (int i = 0; i < 2; i++) {
        if (PyUnicode_Check(want) && PyUnicode_CompareWithASCIIString(want, names[i]) == 0) {
            *out = (NvrtcOutput)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "want must be 'ptx' or 'cubin', not %R", want);
    return -1;
}

/* The compiler's log; where it wrote none, the call that failed and why. */
static PyObject *describe_log(const NvrtcTable *table, const NvrtcProduct *product)
{
    if (product->failed && (!product->log || !product->log[0]))
        return PyUnicode_FromFormat("%s: %s", product->failed, table->nvrtcGetErrorString(product->result));
    const char *log = product->log ? product->log : "";
    return PyUnicode_DecodeUTF8(log, (Py_ssize_t)strlen(log), "replace");
}

static PyObject *describe_lowered(const NvrtcProduct *product)
{
    PyObject *names = PyTuple_New(product->lowered_count);
    for (int i = 0; names && i < product->lowered_count; i++) {
        PyObject *name = PyUnicode_FromString(product->lowered[i]);
        if (name)
            PyTuple_SET_ITEM(names, i, name);
        else
            Py_CLEAR(names);
    }
    return names;
}

/* (code or None, log, lowered names). */
static PyObject *describe(const NvrtcTable *table, const NvrtcProduct *product, bool done)
{
    PyObject *log = describe_log(table, product), *names = describe_lowered(product);
    PyObject *code =
        done ? PyBytes_FromStringAndSize(product->code, (Py_ssize_t)product->code_size) : Py_NewRef(Py_None);
    if (log && code && names) return Py_BuildValue("(NNN)", code, log, names);
    Py_XDECREF(names);
    Py_XDECREF(log);
    Py_XDECREF(code);
    return NULL;
}

/* given: the arguments of _nvrtc_compile. -1 with an exception; clear_texts() follows in either case. */
static int read_job(PyObject *const *given, NvrtcJob *job, JobTexts *texts)
{
    if (read_output(given[3], &job->want) < 0 || !(texts->owner = PyList_New(0))
        || !(job->source = hold_string(texts->owner, given[0]))
        || !(job->name = hold_string(texts->owner, given[1])) || read_strings(given[2], &texts->options) < 0
        || (given[4] && read_strings(given[4], &texts->expressions) < 0))
        return -1;
    job->options = texts->options.strings;
    job->option_count = texts->options.count;
    job->expressions = texts->expressions.strings;
    job->expression_count = texts->expressions.count;
    return 0;
}

static void clear_texts(JobTexts *texts)
{
    Py_XDECREF(texts->owner);
    clear_strings(&texts->options);
    clear_strings(&texts->expressions);
}

static void free_compilation(Compilation *compilation)
{
    nvrtc_product_free(&compilation->product);
    clear_texts(&compilation->texts);
    Py_XDECREF(compilation->library);
    PyMem_Free(compilation);
}

/* A compilation by the library that was opened last; NULL with an exception. */
static Compilation *new_compilation(ModuleState *state, PyObject *const *given)
{
    if (!state->nvrtc) {
        PyErr_SetString(PyExc_RuntimeError, "_nvrtc_open was not called");
        return NULL;
    }
    Compilation *compilation = PyMem_Calloc(1, sizeof *compilation);
    if (!compilation) return (Compilation *)PyErr_NoMemory();
    compilation->release = free_compilation;
    compilation->library = Py_NewRef(state->nvrtc);
    compilation->table = PyCapsule_GetPointer(compilation->library, table_name);
    if (read_job(given, &compilation->job, &compilation->texts) == 0) return compilation;
    free_compilation(compilation);
    return NULL;
}

PyDoc_STRVAR(nvrtc_compile_doc, "_nvrtc_compile(source, name, options, want, expressions=())\n--\n\n"
                                "Compile with the library opened last. Other threads run meanwhile.\n"
                                "\nParameters\n----------\n"
                                "source : bytes or str\n"
                                "name : str\n    File name for messages.\n"
                                "options : iterable of str\n"
                                "want : {\"ptx\", \"cubin\"}\n"
                                "expressions : iterable of str\n    C++ names of kernels and variables.\n"
                                "\nReturns\n-------\n"
                                "(code, log, names) : tuple\n"
                                "    code is None when the compiler failed; the log says why. names are\n"
                                "    those of the expressions in the code.");

static PyObject *nvrtc_compile_py(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[5];
    if (convert_arguments(nvrtc_compile_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    Compilation *compilation = new_compilation(state, given);
    if (!compilation || compilation_run(state, compilation) < 0) return NULL;
    PyObject *answer = describe(compilation->table, &compilation->product, compilation->compiled);
    free_compilation(compilation);
    return answer;
}

PyMethodDef nvrtc_functions[] = {
    {"_nvrtc_open", nvrtc_open, METH_O, nvrtc_open_doc},
    {"_nvrtc_compile", AS_METHOD(nvrtc_compile_py), FAST_KEYWORDS, nvrtc_compile_doc},
    {NULL, NULL, 0, NULL},
};
