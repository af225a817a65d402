/* Module: code loaded into a context. It keeps its context alive, and its functions keep it. */
#include "ext/code/code_module.h"

#include <stdio.h>
#include <string.h>

#include "core/image_size.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/launch/function.h"
#include "ext/texture/reference.h"

/* Raises the error of a load with the compiler's error log, after the handler was called, whose exception
 * comes first. Returns NULL. */
static PyObject *raise_load(ModuleState *state, CUresult result, const char *routine, JitRequest *request,
                            PyObject *message_handler)
{
    if (!PyErr_Occurred() && jit_request_call_handler(request, message_handler, false) < 0) return NULL;
    if (request->error[0]) return raise_driver(state, result, routine, "%s", request->error);
    return raise_driver(state, result, routine, NULL);
}

PyObject *code_module_load(ModuleState *state, const void *image, size_t size, PyObject *options,
                           PyObject *message_handler, const char *routine)
{
    JitRequest request;
    PyObject *self = owner_new(state, state->Module_type);
    if (!self) return NULL;
    CodeModuleObject *module = code_module_cast(self);
    if (jit_request_open(&request, options, false) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    CUresult result =
        try_cuModuleLoadDataEx(state, &module->handle, image, request.count, request.options, request.values);
    if (result == CUDA_SUCCESS)
        module->counts = param_counts_read(image, size);
    else
        raise_load(state, result, routine, &request, message_handler);
    self = owner_finish(self, result, routine, &state->live_Module);
    if (self && jit_request_call_handler(&request, message_handler, true) < 0) Py_CLEAR(self);
    jit_request_close(&request);
    return self;
}

/* There is no tp_clear: other objects of a cycle through the memory that a texture is bound to have one. */
static int module_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    const References *all = code_module_cast(self)->references;
    for (Reference *reference = all ? all->first : NULL; reference; reference = reference->next) {
        int status = reference_visit(reference, visit, arg);
        if (status) return status;
    }
    return 0;
}

static void unload_module(PyObject *self)
{
    CodeModuleObject *module = code_module_cast(self);
    LIVE_LESS(module->state, Module);
    RELEASE_IN_CONTEXT(module->context, end, cuModuleUnload, module->handle);
}

static void module_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, module_dealloc, unload_module)) return;
    references_free(code_module_cast(self)->references);
    param_counts_free(&code_module_cast(self)->counts);
    owner_dealloc_end(self);
}

PyDoc_STRVAR(get_function_doc,
             "get_function($self, name)\n--\n\n"
             "Find a kernel of the module.\n"
             "\nParameters\n----------\n"
             "name : str\n"
             "    As the compiler wrote it: C++ names are mangled unless ``extern \"C\"``.\n"
             "\nReturns\n-------\n"
             "Function\n"
             "\nRaises\n------\n"
             "LogicError\n    The module has no kernel of this name.\n"
             "\nNotes\n-----\n"
             "Calls cuModuleGetFunction.");

static PyObject *get_function(PyObject *self, FAST_PARAMETERS)
{
    CodeModuleObject *module = code_module_cast(self);
    PyObject *given[1];
    CUfunction handle;
    const char *name;
    if (convert_arguments(get_function_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || !(name = PyUnicode_AsUTF8(given[0])))
        return NULL;
    CUresult result = try_cuModuleGetFunction(module->state, &handle, module->handle, name);
    if (result != CUDA_SUCCESS) return raise_no_kernel(module, result, name);
    return function_new(module->state, module, handle, given[0]);
}

PyDoc_STRVAR(get_global_doc, "get_global($self, name)\n--\n\n"
                             "Find a global or constant variable of the module.\n"
                             "\nParameters\n----------\n"
                             "name : str\n"
                             "\nReturns\n-------\n"
                             "(address, size) : tuple of int\n    The device address and the size in bytes.\n"
                             "\nRaises\n------\n"
                             "LogicError\n    The module has no variable of this name.\n"
                             "\nNotes\n-----\n"
                             "Calls cuModuleGetGlobal.");

static PyObject *get_global(PyObject *self, FAST_PARAMETERS)
{
    CodeModuleObject *module = code_module_cast(self);
    CUdeviceptr address = 0;
    size_t size = 0;
    const char *name;
    if (READ_ARGUMENTS(get_global_doc, INTO(&name)) < 0) return NULL;
    CUresult result = try_cuModuleGetGlobal(module->state, &address, &size, module->handle, name);
    if (result != CUDA_SUCCESS)
        return raise_driver(module->state, result, "cuModuleGetGlobal", "variable '%s'", name);
    return Py_BuildValue("(Kn)", (unsigned long long)address, (Py_ssize_t)size);
}

PyDoc_STRVAR(get_texref_doc,
             "get_texref($self, name)\n--\n\n"
             "Find a ``texture<>`` variable of the module.\n"
             "\nParameters\n----------\n"
             "name : str\n"
             "\nReturns\n-------\n"
             "TextureReference\n"
             "    What it is bound to holds for the whole module, whichever object it was bound\n"
             "    through.\n"
             "\nRaises\n------\n"
             "LogicError\n    The module has no texture of this name.\n"
             "\nNotes\n-----\n"
             "Calls cuModuleGetTexRef, where the driver has the texture.");

PyDoc_STRVAR(get_surfref_doc, "get_surfref($self, name)\n--\n\n"
                              "Find a ``surface<>`` variable of the module.\n"
                              "\nParameters\n----------\n"
                              "name : str\n"
                              "\nReturns\n-------\n"
                              "SurfaceReference\n    What it is bound to holds for the whole module.\n"
                              "\nRaises\n------\n"
                              "LogicError\n    The module has no surface of this name.\n"
                              "\nNotes\n-----\n"
                              "Calls cuModuleGetSurfRef, where the driver has the surface.");

static PyObject *get_reference(PyObject *self, const char *signature, bool surface, FAST_PARAMETERS)
{
    const char *name;
    if (READ_ARGUMENTS(signature, INTO(&name)) < 0) return NULL;
    return surface ? surface_reference_new(code_module_cast(self), name)
                   : texture_reference_new(code_module_cast(self), name);
}

static PyObject *get_texref(PyObject *self, FAST_PARAMETERS)
{
    return get_reference(self, get_texref_doc, false, args, arg_count, keywords);
}

static PyObject *get_surfref(PyObject *self, FAST_PARAMETERS)
{
    return get_reference(self, get_surfref_doc, true, args, arg_count, keywords);
}

/* Loading */

/* Extends an image that is shorter than a header with zeros: drivers do not get the size of an image, and
 * would read beyond its end. Takes the reference to `bytes`, which may be NULL with an exception; the result
 * is a new one, or NULL with an exception. */
static PyObject *with_header(PyObject *bytes)
{
    enum { HEADER_BYTES = 64 }; /* of an ELF file, the longest header */
    if (!bytes || PyBytes_GET_SIZE(bytes) == 0 || PyBytes_GET_SIZE(bytes) >= HEADER_BYTES) return bytes;
    PyObject *longer = PyBytes_FromStringAndSize(NULL, HEADER_BYTES);
    if (longer) {
        memset(PyBytes_AS_STRING(longer), 0, HEADER_BYTES);
        memcpy(PyBytes_AS_STRING(longer), PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    }
    Py_DECREF(bytes);
    return longer;
}

/* The content of a buffer or str as a bytes object, which has the NUL after its end that PTX needs. A new
 * reference; NULL with an exception. */
static PyObject *with_end(PyObject *buffer)
{
    if (PyBytes_CheckExact(buffer)) return with_header(Py_NewRef(buffer));
    return with_header(PyUnicode_Check(buffer) ? PyUnicode_AsUTF8String(buffer) : PyBytes_FromObject(buffer));
}

bool code_check_image(ModuleState *state, PyObject *bytes, const char *routine)
{
    char why[160];
    if (image_is_whole(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), why, sizeof why))
        return true;
    raise_driver(state, CUDA_ERROR_INVALID_IMAGE, routine, "%s", why);
    return false;
}

PyDoc_STRVAR(module_from_buffer_doc,
             "module_from_buffer(buffer, options=(), message_handler=None)\n--\n\n"
             "Load PTX, a cubin or a fatbin from a buffer.\n"
             "\nParameters\n----------\n"
             "buffer : bytes-like\n"
             "options : iterable of (jit_option, int)\n"
             "message_handler : callable\n"
             "    Called as ``message_handler(ok, info, error)`` with the two logs of the driver's\n"
             "    compiler.\n"
             "\nReturns\n-------\n"
             "Module\n"
             "\nRaises\n------\n"
             "LogicError, RuntimeError\n"
             "    The code cannot be loaded; the message has the error log.\n"
             "\nNotes\n-----\n"
             "Calls cuModuleLoadDataEx.");

static PyObject *module_from_buffer(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = module_state(self);
    PyObject *buffer, *options, *message_handler;
    if (READ_ARGUMENTS(module_from_buffer_doc, INTO(&buffer), INTO(&options), INTO(&message_handler)) < 0)
        return NULL;
    PyObject *image = with_end(buffer);
    if (!image) return NULL;
    PyObject *module = NULL;
    if (PyBytes_GET_SIZE(image) == 0)
        raise_logic(state, "cuModuleLoadDataEx failed: the buffer is empty");
    else if (code_check_image(state, image, "cuModuleLoadDataEx"))
        module = code_module_load(state, PyBytes_AS_STRING(image), (size_t)PyBytes_GET_SIZE(image), options,
                                  message_handler, "cuModuleLoadDataEx");
    Py_DECREF(image);
    return module;
}

/* The content of a file as bytes, or NULL without an exception. */
static PyObject *read_file(PyObject *path)
{
    PyObject *io = PyImport_ImportModule("io"), *content = NULL;
    PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, "rb") : NULL;
    if (file) content = PyObject_CallMethod(file, "read", NULL);
    PyObject *closed = file ? PyObject_CallMethod(file, "close", NULL) : NULL;
    Py_XDECREF(closed);
    Py_XDECREF(file);
    Py_XDECREF(io);
    PyErr_Clear();
    if (content && PyBytes_CheckExact(content)) return content;
    Py_XDECREF(content);
    return NULL;
}

static void count_params_of_file(CodeModuleObject *module, PyObject *path)
{
    PyObject *content = read_file(path);
    if (content)
        module->counts = param_counts_read(PyBytes_AS_STRING(content), (size_t)PyBytes_GET_SIZE(content));
    Py_XDECREF(content);
}

/* log: ":\n" and the compiler's error log for a file that cuModuleLoad refused, else "". cuModuleLoad itself
 * gives no log: a file of PTX is compiled once more for it. */
static void explain_file(ModuleState *state, PyObject *path, char *log, size_t size)
{
    JitRequest request;
    CUmodule handle = NULL;
    CUresult result;
    PyObject *content = read_file(path);
    log[0] = '\0';
    bool is_ptx = content && !memchr(PyBytes_AS_STRING(content), 0, (size_t)PyBytes_GET_SIZE(content));
    if (is_ptx && jit_request_open(&request, NULL, false) == 0) {
        const void *image = PyBytes_AS_STRING(content);
        result =
            once_cuModuleLoadDataEx(state, &handle, image, request.count, request.options, request.values);
        if (result == CUDA_SUCCESS) once_cuModuleUnload(state, handle);
        snprintf(log, size, "%s%s", request.error[0] ? ":\n" : "", request.error);
        jit_request_close(&request);
    }
    PyErr_Clear();
    Py_XDECREF(content);
}

/* Raises the error of cuModuleLoad. path: a bytes object. */
static void raise_file(ModuleState *state, CUresult result, PyObject *path)
{
    static char no_log[1];
    char *log = NULL;
    if (!PyErr_Occurred() && result != CUDA_ERROR_FILE_NOT_FOUND && (log = PyMem_Malloc(JIT_LOG_BYTES)))
        explain_file(state, path, log, JIT_LOG_BYTES);
    raise_driver(state, result, "cuModuleLoad", "%s%s", PyBytes_AS_STRING(path), log ? log : no_log);
    PyMem_Free(log);
}

PyDoc_STRVAR(module_from_file_doc,
             "module_from_file(filename)\n--\n\n"
             "Load a file of PTX, a cubin or a fatbin.\n"
             "\nParameters\n----------\n"
             "filename : str or path-like\n"
             "\nReturns\n-------\n"
             "Module\n"
             "\nRaises\n------\n"
             "RuntimeError\n    There is no such file.\n"
             "LogicError, RuntimeError\n    The code cannot be loaded, as in module_from_buffer.\n"
             "\nNotes\n-----\n"
             "Calls cuModuleLoad.");

static PyObject *module_from_file(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = module_state(self);
    PyObject *filename, *path;
    if (READ_ARGUMENTS(module_from_file_doc, INTO(&filename)) < 0 || !PyUnicode_FSConverter(filename, &path))
        return NULL;
    PyObject *made = owner_new(state, state->Module_type);
    if (made) {
        CUresult result = try_cuModuleLoad(state, &code_module_cast(made)->handle, PyBytes_AS_STRING(path));
        if (result == CUDA_SUCCESS)
            count_params_of_file(code_module_cast(made), path);
        else
            raise_file(state, result, path);
        made = owner_finish(made, result, "cuModuleLoad", &state->live_Module);
    }
    Py_DECREF(path);
    return made;
}

static PyMemberDef module_members[] = {
    {"handle", T_ULONGLONG, offsetof(CodeModuleObject, handle), READONLY, "The CUmodule as an int."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *module_repr(PyObject *self)
{
    return context_repr_of(self, code_module_cast(self)->context, code_module_cast(self)->handle, "");
}

static PyMethodDef module_methods[] = {
    {"get_function", AS_METHOD(get_function), FAST_KEYWORDS, get_function_doc},
    {"get_global", AS_METHOD(get_global), FAST_KEYWORDS, get_global_doc},
    {"get_texref", AS_METHOD(get_texref), FAST_KEYWORDS, get_texref_doc},
    {"get_surfref", AS_METHOD(get_surfref), FAST_KEYWORDS, get_surfref_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec Module_spec = {
    TYPE_WITH_WEAK_REFERENCES(
        "pycuda.driver.Module", CodeModuleObject, 0,
        "Loaded code; made by module_from_file, module_from_buffer and Linker.link_module."),
    .tp_dealloc = module_dealloc,
    .tp_traverse = module_traverse,
    .tp_repr = module_repr,
    TYPE_TABLES(module_methods, NULL, module_members),
};

PyMethodDef code_module_functions[] = {
    {"module_from_file", AS_METHOD(module_from_file), FAST_KEYWORDS, module_from_file_doc},
    {"module_from_buffer", AS_METHOD(module_from_buffer), FAST_KEYWORDS, module_from_buffer_doc},
    {NULL, NULL, 0, NULL},
};
