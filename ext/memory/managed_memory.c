/* Managed memory: one address that host and device both use. Arrays in it: host_arrays.c. */
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/stream/stream.h"

PyObject *managed_memory_new(ModuleState *state, size_t size, unsigned flags)
{
    PyObject *self = owner_new(state, state->ManagedAllocation_type);
    if (!self) return NULL;
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    allocation->managed = true;
    allocation->size = size ? size : 1;
    CUresult result;
    ALLOCATE(state, result, try_cuMemAllocManaged(state, &allocation->pointer, allocation->size, flags));
    if (result != CUDA_SUCCESS) device_memory_raise(state, NULL, result, "cuMemAllocManaged", size);
    return owner_finish(self, result, "cuMemAllocManaged", &state->live_ManagedAllocation);
}

PyDoc_STRVAR(get_device_pointer_doc, "get_device_pointer($self)\n--\n\n"
                                     "The address, which is the same on host and device.\n"
                                     "\nReturns\n-------\n"
                                     "int");

static PyObject *managed_get_device_pointer(PyObject *self, PyObject *Py_UNUSED(none))
{
    CUdeviceptr pointer;
    if (device_allocation_address(device_allocation_cast(self), &pointer) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(pointer);
}

PyDoc_STRVAR(attach_doc,
             "attach($self, mem_flags, stream=None)\n--\n\n"
             "Attach the memory to all streams, to this one, or to the host, after the work in the stream.\n"
             "\nParameters\n----------\n"
             "mem_flags : mem_attach_flags\n"
             "stream : Stream\n"
             "\nNotes\n-----\n"
             "Calls cuStreamAttachMemAsync.");

static PyObject *managed_attach(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = device_allocation_cast(self)->state;
    PyObject *stream_object;
    unsigned flags = 0;
    CUstream stream;
    CUdeviceptr pointer;
    if (READ_ARGUMENTS(attach_doc, INTO(&flags), INTO(&stream_object)) < 0
        || convert_stream(state, stream_object, &stream) < 0
        || device_allocation_address(device_allocation_cast(self), &pointer) < 0)
        return NULL;
    return none_unless(gpu_cuStreamAttachMemAsync(state, stream, pointer, 0, flags));
}

static PyMethodDef managed_methods[] = {
    {"get_device_pointer", managed_get_device_pointer, METH_NOARGS, get_device_pointer_doc},
    {"attach", AS_METHOD(managed_attach), FAST_KEYWORDS, attach_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec ManagedAllocation_spec = {
    TYPE_OF("pycuda.driver.ManagedAllocation", DeviceAllocationObject, 0,
            "Managed memory, the base of the arrays that managed_empty and similar functions return."),
    .tp_dealloc = device_allocation_dealloc,
    TYPE_TABLES(managed_methods, NULL, NULL),
};
