/* SurfaceObject: an Array that kernels read and write by coordinates. */
#include "ext/texture/texture.h"

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/texture/cuda_array.h"

PyObject *surface_create(ModuleState *state, PyTypeObject *type, PyObject *source,
                         const CUDA_RESOURCE_DESC *resource, const char *reference)
{
    const char *what = reference ? "surface reference " : "the surface", *name = reference ? reference : "";
    PyObject *self = texture_empty(state, type, source);
    if (!self) return NULL;
    CUresult result = try_cuSurfObjectCreate(state, &texture_cast(self)->handle, resource);
    if (result != CUDA_SUCCESS) raise_driver(state, result, "cuSurfObjectCreate", "%s%s", what, name);
    return owner_finish(self, result, "cuSurfObjectCreate", &state->live_SurfaceObject);
}

/* -1 with LogicError unless the Array was made for surfaces. Drivers make a surface of any Array, but do not
 * define what stores to it then do. */
static int check_storable(ModuleState *state, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (cuda_array_describe(state, handle, &shape) < 0) return -1;
    if (shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) return 0;
    raise_logic(state, "the Array of a surface must be made with array3d_flags.SURFACE_LDST");
    return -1;
}

PyDoc_STRVAR(surface_doc, "SurfaceObject(array)\n--\n\n"
                          "A surface over an Array, in the current context. Kernels take it as a\n"
                          "cudaSurfaceObject_t.\n"
                          "\nParameters\n----------\n"
                          "array : Array\n    Made with array3d_flags.SURFACE_LDST.\n"
                          "\nRaises\n------\n"
                          "LogicError\n    The Array has no such flag.\n"
                          "\nNotes\n-----\n"
                          "Calls cuSurfObjectCreate.");

static PyObject *surface_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *array;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    if (READ_CALL(surface_doc, INTO(&array)) < 0
        || cuda_array_handle(state, array, "array", &resource.res.array.hArray) < 0
        || check_storable(state, resource.res.array.hArray) < 0)
        return NULL;
    return surface_create(state, type, array, &resource, NULL);
}

static PyMethodDef surface_methods[] = {
    {"free", texture_free, METH_NOARGS,
     "free($self)\n--\n\n"
     "Destroy the surface now; the array stays. Nothing happens the second time.\n"
     "\nNotes\n-----\n"
     "Calls cuSurfObjectDestroy."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef surface_members[] = {
    {"array", T_OBJECT_EX, offsetof(TextureHandleObject, source), READONLY, "The Array, kept alive."},
    {"handle", T_ULONGLONG, offsetof(TextureHandleObject, handle), READONLY, "The CUsurfObject as an int."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec SurfaceObject_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.SurfaceObject", TextureHandleObject, 0, surface_doc),
    .tp_new = surface_tp_new,
    .tp_dealloc = texture_dealloc,
    .tp_traverse = texture_traverse,
    .nb_int = texture_int,
    .nb_index = texture_int,
    TYPE_TABLES(surface_methods, NULL, surface_members),
};
