/* RegisteredMapping: an object of OpenGL's while it is mapped, so that kernels may use it. */
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/gl/registered.h"
#include "ext/stream/stream.h"
#include "ext/texture/cuda_array.h"

typedef struct MappingObject {
    PyObject_HEAD
    ModuleState *state;
    RegisteredObject *object;   /* a reference; counted in its mappings until this is unmapped */
    PyObject *stream;           /* a reference, or NULL */
    atomic_bool unmapped;       /* no longer mapped, or not yet */
    PyObject *weak_references;
} MappingObject;

static MappingObject *mapping_cast(PyObject *object) { return (MappingObject *)object; }

/* ---- Mapping ---- */

const char registered_map_doc[] =
    "map($self, stream=None)\n--\n\n"
    "Map the memory for kernels: what OpenGL was given before this call is done\n"
    "before what the stream is given after it.\n"
    "\nParameters\n----------\n"
    "stream : Stream\n"
    "\nReturns\n-------\n"
    "RegisteredMapping\n"
    "\nRaises\n------\n"
    "LogicError\n    It was unregistered.\n"
    "Error\n    It is mapped already, or OpenGL's context is not current.\n"
    "\nNotes\n-----\n"
    "Calls cuGraphicsMapResources.";

static MappingObject *new_mapping(RegisteredObject *object, PyObject *stream)
{
    PyTypeObject *type = object->state->RegisteredMapping_type;
    MappingObject *mapping = mapping_cast(type->tp_alloc(type, 0));
    if (!mapping) return NULL;
    mapping->state = object->state;
    mapping->object = registered_cast(Py_NewRef((PyObject *)object));
    mapping->stream = stream && stream != Py_None ? Py_NewRef(stream) : NULL;
    atomic_init(&mapping->unmapped, true);
    return mapping;
}

PyObject *registered_map(PyObject *self, FAST_PARAMETERS)
{
    RegisteredObject *object = registered_cast(self);
    ModuleState *state = object->state;
    PyObject *given[1];
    CUstream stream;
    if (convert_arguments(registered_map_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    given[0] = stream_or_current(state, given[0]);
    if (convert_stream(state, given[0], &stream) < 0 || !context_check(object->context, "map")) return NULL;
    MappingObject *mapping = new_mapping(object, given[0]);
    if (!mapping) return NULL;
    if (registered_enter(object) < 0) {
        Py_DECREF((PyObject *)mapping);
        return NULL;
    }
    CUresult result = try_cuGraphicsMapResources(state, 1, &object->resource, stream);
    if (result == CUDA_SUCCESS) {
        atomic_store(&mapping->unmapped, false);
        LIVE_MORE(state, RegisteredMapping);
        return (PyObject *)mapping;
    }
    registered_leave(object);
    Py_DECREF((PyObject *)mapping);
    return raise_driver(state, result, "cuGraphicsMapResources", "OpenGL name %u", object->name);
}

/* ---- Unmapping ---- */

/* Unmaps the object, which then counts a mapping less. If the context is gone the mapping ended with it, and
 * no call is made: CUDA_SUCCESS. */
static CUresult unmap_resource(MappingObject *mapping, CUstream stream)
{
    RegisteredObject *object = mapping->object;
    ContextScope scope;
    CUresult result = CUDA_SUCCESS;
    if (context_enter_scope(object->context, &scope)) {
        result = once_cuGraphicsUnmapResources(mapping->state, 1, &object->resource, stream);
        context_leave_scope(&scope);
    }
    LIVE_LESS(mapping->state, RegisteredMapping);
    registered_leave(object);
    return result;
}

/* Unmaps on the stream of map(), or on the default stream when that stream can no longer be used. */
static void unmap_deferred(PyObject *self)
{
    MappingObject *mapping = mapping_cast(self);
    PyObject *type, *value, *trace;
    CUstream stream = NULL;
    PyErr_Fetch(&type, &value, &trace);
    if (convert_stream(mapping->state, mapping->stream, &stream) < 0) PyErr_Clear();
    report_driver(mapping->state, unmap_resource(mapping, stream), "cuGraphicsUnmapResources");
    PyErr_Restore(type, value, trace);
}

PyDoc_STRVAR(unmap_doc, "unmap($self, stream=None)\n--\n\n"
                        "Give the memory back to OpenGL, after the work that is in the stream now.\n"
                        "\nParameters\n----------\n"
                        "stream : Stream\n    By default the one that map() was given.\n"
                        "\nRaises\n------\n"
                        "LogicError\n    The second time.\n"
                        "\nNotes\n-----\n"
                        "Calls cuGraphicsUnmapResources.");

static PyObject *mapping_unmap(PyObject *self, FAST_PARAMETERS)
{
    MappingObject *mapping = mapping_cast(self);
    PyObject *given[1];
    CUstream stream;
    if (convert_arguments(unmap_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    PyObject *used = given[0] && given[0] != Py_None ? given[0] : mapping->stream;
    if (convert_stream(mapping->state, used, &stream) < 0) return NULL;
    if (atomic_exchange(&mapping->unmapped, true))
        return raise_logic(mapping->state, "OpenGL object %u was already unmapped", mapping->object->name);
    if (host_function_runs()) {
        deferred_free(mapping->state, unmap_deferred, self);
        Py_RETURN_NONE;
    }
    return none_or_raise(mapping->state, unmap_resource(mapping, stream), "cuGraphicsUnmapResources");
}

static void mapping_dealloc(PyObject *self)
{
    MappingObject *mapping = mapping_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    if (mapping->weak_references) PyObject_ClearWeakRefs(self);
    if (deferred_dealloc(mapping->state, mapping_dealloc, self)) return;
    if (!atomic_exchange(&mapping->unmapped, true)) unmap_deferred(self);
    Py_XDECREF(mapping->stream);
    Py_DECREF((PyObject *)mapping->object);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Mapped memory ---- */

static int check_mapped(MappingObject *mapping, const char *what)
{
    if (!atomic_load(&mapping->unmapped)) return context_check(mapping->object->context, what) ? 0 : -1;
    raise_logic(mapping->state, "%s: OpenGL object %u is no longer mapped", what, mapping->object->name);
    return -1;
}

PyDoc_STRVAR(device_ptr_and_size_doc, "device_ptr_and_size($self)\n--\n\n"
                                      "The address of the mapped buffer, which the next mapping may change.\n"
                                      "\nReturns\n-------\n"
                                      "tuple of two int\n    Device address and bytes.\n"
                                      "\nRaises\n------\n"
                                      "LogicError\n    It is not mapped anymore.\n"
                                      "\nNotes\n-----\n"
                                      "Calls cuGraphicsResourceGetMappedPointer.");

static PyObject *mapping_device_ptr_and_size(PyObject *self, PyObject *Py_UNUSED(none))
{
    MappingObject *mapping = mapping_cast(self);
    CUdeviceptr pointer;
    size_t size;
    if (check_mapped(mapping, "device_ptr_and_size") < 0) return NULL;
    return gpu_cuGraphicsResourceGetMappedPointer(mapping->state, &pointer, &size, mapping->object->resource)
                   < 0
               ? NULL
               : Py_BuildValue("(Kn)", (unsigned long long)pointer, (Py_ssize_t)size);
}

PyDoc_STRVAR(array_doc, "array($self, index, level)\n--\n\n"
                        "An image as an Array, which textures and surfaces take. Its memory is OpenGL's.\n"
                        "\nParameters\n----------\n"
                        "index : int\n    Layer, or face of a cube map; else 0.\n"
                        "level : int\n    Level of the mipmap; else 0.\n"
                        "\nReturns\n-------\n"
                        "Array\n    Valid until this is unmapped.\n"
                        "\nRaises\n------\n"
                        "LogicError\n    It is not mapped anymore.\n"
                        "\nNotes\n-----\n"
                        "Calls cuGraphicsSubResourceGetMappedArray.");

static PyObject *mapping_array(PyObject *self, FAST_PARAMETERS)
{
    MappingObject *mapping = mapping_cast(self);
    unsigned index = 0, level = 0;
    CUarray handle;
    if (READ_ARGUMENTS(array_doc, INTO(&index), INTO(&level)) < 0 || check_mapped(mapping, "array") < 0)
        return NULL;
    CUresult result = try_cuGraphicsSubResourceGetMappedArray(mapping->state, &handle,
                                                              mapping->object->resource, index, level);
    if (result == CUDA_SUCCESS)
        return cuda_array_lent(mapping->object->context, handle, self, &mapping->unmapped);
    return raise_driver(mapping->state, result, "cuGraphicsSubResourceGetMappedArray", "index %u, level %u",
                        index, level);
}

/* ---- The type ---- */

static PyMethodDef mapping_methods[] = {
    {"unmap", AS_METHOD(mapping_unmap), FAST_KEYWORDS, unmap_doc},
    {"device_ptr_and_size", mapping_device_ptr_and_size, METH_NOARGS, device_ptr_and_size_doc},
    {"array", AS_METHOD(mapping_array), FAST_KEYWORDS, array_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec RegisteredMapping_spec = {
    TYPE_WITH_WEAK_REFERENCES(
        "pycuda.driver.RegisteredMapping", MappingObject, 0,
        "A buffer or image of OpenGL while kernels may use it: what map() returns. It ends with\n"
        "unmap(), at the latest with the last reference."),
    .tp_dealloc = mapping_dealloc,
    TYPE_TABLES(mapping_methods, NULL, NULL),
};
