/* RegisteredBuffer and RegisteredImage, and the context for them. */
#include "ext/gl/registered.h"

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/device.h"
#include "ext/convert/convert.h"

enum {
    OPENGL_DEVICES_MAX = 64,    /* GPUs of an OpenGL context of which check_gl() looks at */
    DEVICES_ALL = 1             /* CU_GL_DEVICE_LIST_ALL: the GPUs of all frames, not of the current one */
};

/* ---- Registering ---- */

int registered_enter(RegisteredObject *object)
{
    long count = atomic_load(&object->mappings);
    while (count != REGISTERED_GONE)
        if (atomic_compare_exchange_weak(&object->mappings, &count, count + 1)) return 0;
    raise_logic(object->state, "the OpenGL object %u was unregistered", object->name);
    return -1;
}

void registered_leave(RegisteredObject *object) { atomic_fetch_sub(&object->mappings, 1); }

/* -1 with an exception unless this thread has a current context of OpenGL on this device: only then can a
 * CUDA context share memory with OpenGL. */
static int check_gl(ModuleState *state, CUdevice device)
{
    unsigned count = 0;
    CUdevice devices[OPENGL_DEVICES_MAX];
    CUresult result = once_cuGLGetDevices(state, &count, devices, OPENGL_DEVICES_MAX, DEVICES_ALL);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuGLGetDevices", "an OpenGL context must be current in this thread");
        return -1;
    }
    for (unsigned i = 0; i < count && i < OPENGL_DEVICES_MAX; i++)
        if (devices[i] == device) return 0;
    raise_logic(state, "the current OpenGL context is not on this device");
    return -1;
}

PyDoc_STRVAR(make_gl_context_doc,
             "make_gl_context(dev, flags=0)\n--\n\n"
             "Create a context that can share memory with the current context of OpenGL, and push it.\n"
             "\nParameters\n----------\n"
             "dev : Device\n"
             "flags : ctx_flags\n"
             "\nReturns\n-------\n"
             "Context\n"
             "\nRaises\n------\n"
             "Error\n    No context of OpenGL is current in this thread, or it is on another device.\n"
             "\nNotes\n-----\n"
             "Calls cuGLGetDevices, cuCtxCreate.");

static PyObject *make_gl_context(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *dev;
    unsigned flags = 0;
    if (READ_ARGUMENTS(make_gl_context_doc, INTO_A(state->Device_type, &dev), INTO(&flags)) < 0) return NULL;
    if (forked_after_init()) return raise_driver(state, CUDA_ERROR_NOT_INITIALIZED, "cuCtxCreate", NULL);
    CUdevice device = device_cast(dev)->handle;
    return check_gl(state, device) < 0 ? NULL : context_create(state, device, flags);
}

static PyObject *new_object(ModuleState *state, PyTypeObject *type, unsigned name)
{
    PyObject *self = owner_new(state, type);
    if (self) registered_cast(self)->name = name;
    return self;
}

/* owner_finish() with an exception that names the OpenGL object. */
static PyObject *finish_object(PyObject *self, CUresult result, const char *routine)
{
    RegisteredObject *object = registered_cast(self);
    if (result != CUDA_SUCCESS)
        raise_driver(object->state, result, routine,
                     "OpenGL name %u; its context must be current in this thread", object->name);
    return owner_finish(self, result, routine, &object->state->live_RegisteredObject);
}

PyDoc_STRVAR(buffer_doc, "RegisteredBuffer(gl_handle, flags=0)\n--\n\n"
                         "A buffer of OpenGL that kernels may use while it is mapped.\n"
                         "\nParameters\n----------\n"
                         "gl_handle : int\n    What glGenBuffers gave; glBufferData has given it memory.\n"
                         "flags : graphics_register_flags\n"
                         "\nRaises\n------\n"
                         "Error\n    There is no such buffer, or OpenGL's context is not current in this\n"
                         "    thread.\n"
                         "\nNotes\n-----\n"
                         "Calls cuGraphicsGLRegisterBuffer.");

static PyObject *buffer_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    unsigned name = 0, flags = 0;
    if (READ_CALL(buffer_doc, INTO(&name), INTO(&flags)) < 0) return NULL;
    PyObject *self = new_object(state, type, name);
    if (!self) return NULL;
    CUresult result = try_cuGraphicsGLRegisterBuffer(state, &registered_cast(self)->resource, name, flags);
    return finish_object(self, result, "cuGraphicsGLRegisterBuffer");
}

PyDoc_STRVAR(image_doc,
             "RegisteredImage(gl_handle, target, flags=0)\n--\n\n"
             "A texture or renderbuffer of OpenGL that kernels may use while it is mapped.\n"
             "\nParameters\n----------\n"
             "gl_handle : int\n    What glGenTextures or glGenRenderbuffers gave.\n"
             "target : int\n    GL_TEXTURE_2D, GL_RENDERBUFFER and the like.\n"
             "flags : graphics_register_flags\n"
             "    SURFACE_LDST where kernels write through a SurfaceObject.\n"
             "\nRaises\n------\n"
             "Error\n    There is no such image, its format is not supported, or OpenGL's context\n"
             "    is not current in this thread.\n"
             "\nNotes\n-----\n"
             "Calls cuGraphicsGLRegisterImage.");

static PyObject *image_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    unsigned name = 0, target = 0, flags = 0;
    if (READ_CALL(image_doc, INTO(&name), INTO(&target), INTO(&flags)) < 0) return NULL;
    PyObject *self = new_object(state, type, name);
    if (!self) return NULL;
    CUresult result =
        try_cuGraphicsGLRegisterImage(state, &registered_cast(self)->resource, name, target, flags);
    return finish_object(self, result, "cuGraphicsGLRegisterImage");
}

/* ---- Unregistering ---- */

/* Unregisters in the object's context. If that is gone the registration went with it: CUDA_SUCCESS. */
static CUresult unregister_resource(RegisteredObject *object)
{
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    LIVE_LESS(object->state, RegisteredObject);
    if (!context_enter_scope(object->context, &scope)) return result;
    result = once_cuGraphicsUnregisterResource(object->state, object->resource);
    context_leave_scope(&scope);
    return result;
}

static void unregister_deferred(PyObject *self)
{
    RegisteredObject *object = registered_cast(self);
    report_driver(object->state, unregister_resource(object), "cuGraphicsUnregisterResource");
}

PyDoc_STRVAR(unregister_doc, "unregister($self)\n--\n\n"
                             "End the registration now and not with the last reference.\n"
                             "\nRaises\n------\n"
                             "LogicError\n    The second time, or while it is mapped.\n"
                             "\nNotes\n-----\n"
                             "Calls cuGraphicsUnregisterResource.");

static PyObject *registered_unregister(PyObject *self, PyObject *Py_UNUSED(none))
{
    RegisteredObject *object = registered_cast(self);
    long mappings = 0;
    if (!atomic_compare_exchange_strong(&object->mappings, &mappings, REGISTERED_GONE))
        return mappings == REGISTERED_GONE
                   ? raise_logic(object->state, "the OpenGL object %u was already unregistered", object->name)
                   : raise_logic(object->state, "the OpenGL object %u is mapped: unmap() it first",
                                 object->name);
    if (host_function_runs()) {
        deferred_free(object->state, unregister_deferred, self);
        Py_RETURN_NONE;
    }
    return none_or_raise(object->state, unregister_resource(object), "cuGraphicsUnregisterResource");
}

/* The release of owner_dealloc(): unregisters the object unless that was done. */
static void unregister_last(PyObject *self)
{
    if (atomic_exchange(&registered_cast(self)->mappings, REGISTERED_GONE) != REGISTERED_GONE)
        unregister_deferred(self);
}

static void registered_dealloc(PyObject *self) { owner_dealloc(self, registered_dealloc, unregister_last); }

static PyObject *registered_gl_handle(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLong(registered_cast(self)->name);
}

/* ---- Types ---- */

static PyMethodDef registered_methods[] = {
    {"gl_handle", registered_gl_handle, METH_NOARGS,
     "gl_handle($self)\n--\n\n"
     "OpenGL's name of it.\n"
     "\nReturns\n-------\n"
     "int"},
    {"unregister", registered_unregister, METH_NOARGS, unregister_doc},
    {"map", AS_METHOD(registered_map), FAST_KEYWORDS, registered_map_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec RegisteredObject_spec = {
    TYPE_WITH_WEAK_REFERENCES(
        "pycuda.driver.RegisteredObject", RegisteredObject, Py_TPFLAGS_BASETYPE,
        "An object shared by OpenGL and CUDA: the base of RegisteredBuffer and RegisteredImage."),
    .tp_dealloc = registered_dealloc,
    TYPE_TABLES(registered_methods, NULL, NULL),
};

const TypeSpec RegisteredBuffer_spec = {
    TYPE_OF("pycuda.driver.RegisteredBuffer", RegisteredObject, Py_TPFLAGS_BASETYPE, buffer_doc),
    .tp_new = buffer_tp_new,
};

const TypeSpec RegisteredImage_spec = {
    TYPE_OF("pycuda.driver.RegisteredImage", RegisteredObject, Py_TPFLAGS_BASETYPE, image_doc),
    .tp_new = image_tp_new,
};

PyMethodDef gl_registered_functions[] = {
    {"make_gl_context", AS_METHOD(make_gl_context), FAST_KEYWORDS, make_gl_context_doc},
    {NULL, NULL, 0, NULL},
};
