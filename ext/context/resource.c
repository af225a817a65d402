/* DeviceResource: multiprocessors of a device or a context, and how they are split into groups. */
#include "ext/context/resource.h"

#include "core/exclusive.h"
#include "ext/base/constants.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/device.h"
#include "ext/convert/convert.h"

static PyObject *new_resource(ModuleState *state, CUdevice device, const CUdevResource *value)
{
    PyTypeObject *type = state->DeviceResource_type;
    DeviceResourceObject *resource = resource_cast(type->tp_alloc(type, 0));
    if (!resource) return NULL;
    resource->state = state;
    resource->device = device;
    resource->value = *value;
    return (PyObject *)resource;
}

/* ---- Where one comes from ---- */

#define GET_RESOURCE_DOC(whose, routine) \
    "get_resource($self, type=1)\n--\n\n" whose "\n" \
    "\nParameters\n----------\n" \
    "type : dev_resource_type\n    SM, multiprocessors.\n" \
    "\nReturns\n-------\n" \
    "DeviceResource\n" \
    "\nNotes\n-----\n" \
    "Calls " routine "."

const char device_get_resource_doc[] =
    GET_RESOURCE_DOC("The resource of the device that green contexts can divide.", "cuDeviceGetDevResource");
const char context_get_resource_doc[] =
    GET_RESOURCE_DOC("What kernels of this context run on, to be split into parts of it.",
                     "cuCtxGetDevResource, cuGreenCtxGetDevResource");

/* *out: the argument `type`, by default the multiprocessors. */
static int read_type(const char *doc, PyObject *const *args, Py_ssize_t arg_count, PyObject *keywords,
                     CUdevResourceType *out)
{
    PyObject *given[1];
    *out = CU_DEV_RESOURCE_TYPE_SM;
    return convert_arguments(doc, args, arg_count, keywords, GIVEN(given)) < 0
               ? -1
               : convert_unsigned(given[0], "type", out);
}

PyObject *device_get_resource(PyObject *self, FAST_PARAMETERS)
{
    const DeviceObject *device = device_cast(self);
    CUdevResourceType type;
    CUdevResource value;
    if (read_type(device_get_resource_doc, args, arg_count, keywords, &type) < 0) return NULL;
    CUresult result = once_cuDeviceGetDevResource(device->state, device->handle, &value, type);
    return result == CUDA_SUCCESS
               ? new_resource(device->state, device->handle, &value)
               : raise_driver(device->state, result, "cuDeviceGetDevResource", "type %u", type);
}

PyObject *context_get_resource(PyObject *self, FAST_PARAMETERS)
{
    ContextObject *context = context_cast(self);
    const char *routine = context->green ? "cuGreenCtxGetDevResource" : "cuCtxGetDevResource";
    CUdevResourceType type;
    CUdevResource value;
    CUresult result;
    if (read_type(context_get_resource_doc, args, arg_count, keywords, &type) < 0
        || !context_check(context, routine))
        return NULL;
    context_hold(context); /* so that it does not end meanwhile */
    if (context->green)
        result = once_cuGreenCtxGetDevResource(context->state, context->green, &value, type);
    else
        result = once_cuCtxGetDevResource(context->state, context->handle, &value, type);
    context_drop(context);
    return result == CUDA_SUCCESS ? new_resource(context->state, context->device, &value)
                                  : raise_driver(context->state, result, routine, "type %u", type);
}

/* ---- Splitting ---- */

/* A list with a resource object for each of the driver's groups. */
static PyObject *list_of(const DeviceResourceObject *self, const CUdevResource *groups, unsigned count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (unsigned k = 0; list && k < count; k++) {
        PyObject *item = new_resource(self->state, self->device, &groups[k]);
        if (item)
            PyList_SET_ITEM(list, (Py_ssize_t)k, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *raise_split(const DeviceResourceObject *self, CUresult result, unsigned min_count)
{
    const CUdevSmResource *sm = &self->value.sm;
    return raise_driver(self->state, result, "cuDevSmResourceSplitByCount",
                        "cannot make groups of at least %u of %u multiprocessors; the smallest group has %u "
                        "(the result of a split can be split again once a GreenContext was created from it)",
                        min_count, sm->smCount, sm->minSmPartitionSize);
}

PyDoc_STRVAR(split_doc,
             "split($self, min_count, groups=None, flags=0)\n--\n\n"
             "Split multiprocessors into groups of one size: min_count, rounded up to a multiple of\n"
             "coscheduled_alignment, or all.\n\n"
             "The multiprocessors of a group lie together, so there may be fewer groups than their\n"
             "count allows: an H200 makes 15 groups of 8 of its 132.\n"
             "\nParameters\n----------\n"
             "min_count : int\n"
             "groups : int\n    How many; None for as many as there can be.\n"
             "flags : dev_sm_resource_split_flags\n"
             "    IGNORE_SM_COSCHEDULING takes multiprocessors from anywhere, by twos.\n"
             "\nReturns\n-------\n"
             "(groups, remaining) : tuple\n"
             "    A list of DeviceResource, and one of those that are left over, or None.\n"
             "\nRaises\n------\n"
             "LogicError\n    There are too few, or this was the result of another split.\n"
             "\nNotes\n-----\n"
             "Calls cuDevSmResourceSplitByCount.");

static PyObject *resource_split(PyObject *object, FAST_PARAMETERS)
{
    DeviceResourceObject *self = resource_cast(object);
    PyObject *groups_object, *list = NULL, *rest = NULL;
    unsigned min_count, count = 0, flags = 0;
    CUdevResource *groups = NULL, remaining = {0};
    CUresult result;
    if (READ_ARGUMENTS(split_doc, INTO(&min_count), INTO(&groups_object), INTO(&flags)) < 0
        || (groups_object && groups_object != Py_None
            && convert_unsigned(groups_object, "groups", &count) < 0))
        return NULL;
    if (count == 0) { /* without an array the driver sets *count to as many groups as there can be */
        result =
            once_cuDevSmResourceSplitByCount(self->state, NULL, &count, &self->value, NULL, flags, min_count);
        if (result != CUDA_SUCCESS) return raise_split(self, result, min_count);
    }
    groups = PyMem_Calloc(count ? count : 1, sizeof *groups);
    if (!groups) return PyErr_NoMemory();
    result = once_cuDevSmResourceSplitByCount(self->state, groups, &count, &self->value, &remaining, flags,
                                              min_count);
    if (result != CUDA_SUCCESS) {
        raise_split(self, result, min_count);
        goto end;
    }
    list = list_of(self, groups, count);
    bool some_remain = remaining.type == CU_DEV_RESOURCE_TYPE_SM && remaining.sm.smCount;
    if (list && some_remain)
        rest = new_resource(self->state, self->device, &remaining);
    else if (list)
        rest = Py_NewRef(Py_None);
end:
    PyMem_Free(groups);
    if (list && rest) return Py_BuildValue("(NN)", list, rest);
    Py_XDECREF(list);
    return NULL;
}

/* ---- The class ---- */

static PyObject *get_device(PyObject *self, void *Py_UNUSED(closure))
{
    return device_new(resource_cast(self)->state, resource_cast(self)->device);
}

static PyObject *resource_repr(PyObject *self)
{
    const DeviceResourceObject *resource = resource_cast(self);
    return PyUnicode_FromFormat("<pycuda.driver.DeviceResource: %u multiprocessors of device %d>",
                                resource->value.sm.smCount, (int)resource->device);
}

static PyMethodDef resource_methods[] = {
    {"split", AS_METHOD(resource_split), FAST_KEYWORDS, split_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef resource_properties[] = {
    {"device", get_device, NULL, "The Device that it is a part of.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define SM(member) offsetof(DeviceResourceObject, value.sm.member)
static PyMemberDef resource_members[] = {
    {"sm_count", T_UINT, SM(smCount), READONLY, "How many multiprocessors it has."},
    {"min_partition_size", T_UINT, SM(minSmPartitionSize), READONLY, "How many a group has at least."},
    {"coscheduled_alignment", T_UINT, SM(smCoscheduledAlignment), READONLY,
     "What the sizes of groups are multiples of: the multiprocessors of each such number lie together.\n"
     "Drivers say 0 of what split gave, until a GreenContext was made of it."},
    {NULL, 0, 0, 0, NULL},
};
#undef SM

PyDoc_STRVAR(resource_doc, "Multiprocessors of a device, from Device.get_resource, Context.get_resource or\n"
                           "split; what a GreenContext is made of.");

const TypeSpec DeviceResource_spec = {
    TYPE_OF("pycuda.driver.DeviceResource", DeviceResourceObject, 0, resource_doc),
    .tp_repr = resource_repr,
    TYPE_TABLES(resource_methods, resource_properties, resource_members),
};
