/* Managed memory: one address that host and device both use. */
#include <string.h>

#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"

static PyObject *new_managed(ModuleState *state, size_t size, unsigned flags)
{
    PyObject *self = owner_new(state, state->ManagedAllocation_type);
    if (!self) return NULL;
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    allocation->managed = true;
    allocation->size = size ? size : 1;
    CUresult result = try_cuMemAllocManaged(state, &allocation->pointer, allocation->size, flags);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        device_memory_make_room(state);
        result = try_cuMemAllocManaged(state, &allocation->pointer, allocation->size, flags);
    }
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

PyDoc_STRVAR(attach_doc, "attach($self, mem_flags, stream=None)\n--\n\n"
                         "Say who uses the memory from here on in the stream.\n"
                         "\nParameters\n----------\n"
                         "mem_flags : mem_attach_flags\n"
                         "stream : Stream\n"
                         "\nNotes\n-----\n"
                         "Calls cuStreamAttachMemAsync.");

static PyObject *managed_attach(PyObject *self, FAST_PARAMETERS)
{
    ModuleState *state = device_allocation_cast(self)->state;
    PyObject *given[2];
    unsigned flags = 0;
    CUstream stream;
    CUdeviceptr pointer;
    if (convert_arguments(attach_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_unsigned(given[0], "mem_flags", &flags) < 0 || convert_stream(state, given[1], &stream) < 0
        || device_allocation_address(device_allocation_cast(self), &pointer) < 0)
        return NULL;
    return none_unless(gpu_cuStreamAttachMemAsync(state, stream, pointer, 0, flags));
}

static PyMethodDef managed_methods[] = {
    {"get_device_pointer", managed_get_device_pointer, METH_NOARGS, get_device_pointer_doc},
    {"attach", AS_METHOD(managed_attach), FAST_KEYWORDS, attach_doc},
    {NULL, NULL, 0, NULL},
};

static const TypeSpec managed_spec = {
    .tp_name = "pycuda.driver.ManagedAllocation",
    .tp_doc = "Managed memory, the base of the arrays that managed_empty and similar functions return.",
    .tp_basicsize = sizeof(DeviceAllocationObject),
    .tp_dealloc = device_allocation_dealloc,
    .tp_methods = managed_methods,
};

/* ---- Arrays ---- */

/* Flags of 0, PyCUDA's documented default, are refused by every driver: they stand for GLOBAL. */
static PyObject *make_array(ModuleState *state, HostArrayForm *form, PyObject *mem_flags, bool zeroed)
{
    unsigned flags = 0;
    PyObject *memory = NULL, *array = NULL;
    if (convert_unsigned(mem_flags, "mem_flags", &flags) == 0)
        memory = new_managed(state, form->bytes, flags ? flags : CU_MEM_ATTACH_GLOBAL);
    if (memory) {
        void *pointer = (void *)(uintptr_t)device_allocation_cast(memory)->pointer;
        if (zeroed) memset(pointer, 0, form->bytes);
        array = convert_make_array(form, pointer, memory);
    }
    convert_form_clear(form);
    return array;
}

static PyObject *managed_new(PyObject *module, const char *signature, bool zeroed, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    HostArrayForm form;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_form(state, given[0], given[1], given[2], &form) < 0)
        return NULL;
    return make_array(state, &form, given[3], zeroed);
}

static PyObject *managed_like(PyObject *module, const char *signature, bool zeroed, FAST_PARAMETERS)
{
    PyObject *given[2];
    HostArrayForm form;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_form_like(given[0], &form) < 0)
        return NULL;
    return make_array(module_state(module), &form, given[1], zeroed);
}

PyDoc_STRVAR(managed_empty_doc, "managed_empty(shape, dtype, order=\"C\", mem_flags=1)\n--\n\n"
                                "Allocate an array in managed memory.\n"
                                "\nParameters\n----------\n"
                                "shape : int or sequence of int\n"
                                "dtype : dtype-like\n"
                                "order : {\"C\", \"F\"}\n"
                                "mem_flags : mem_attach_flags\n    1 is GLOBAL.\n"
                                "\nReturns\n-------\n"
                                "numpy.ndarray\n    Its base is a ManagedAllocation.\n"
                                "\nNotes\n-----\n"
                                "Calls cuMemAllocManaged.");

static PyObject *managed_empty(PyObject *module, FAST_PARAMETERS)
{
    return managed_new(module, managed_empty_doc, false, args, arg_count, keywords);
}

PyDoc_STRVAR(managed_zeros_doc, "managed_zeros(shape, dtype, order=\"C\", mem_flags=1)\n--\n\n"
                                "Allocate an array in managed memory, filled with zeros.\n"
                                "\nParameters\n----------\n"
                                "shape : int or sequence of int\n"
                                "dtype : dtype-like\n"
                                "order : {\"C\", \"F\"}\n"
                                "mem_flags : mem_attach_flags\n    1 is GLOBAL.\n"
                                "\nReturns\n-------\n"
                                "numpy.ndarray\n    Its base is a ManagedAllocation.\n"
                                "\nNotes\n-----\n"
                                "Calls cuMemAllocManaged.");

static PyObject *managed_zeros(PyObject *module, FAST_PARAMETERS)
{
    return managed_new(module, managed_zeros_doc, true, args, arg_count, keywords);
}

PyDoc_STRVAR(managed_empty_like_doc, "managed_empty_like(array, mem_flags=1)\n--\n\n"
                                     "Allocate an array in managed memory like another one.\n"
                                     "\nParameters\n----------\n"
                                     "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
                                     "mem_flags : mem_attach_flags\n    1 is GLOBAL.\n"
                                     "\nReturns\n-------\n"
                                     "numpy.ndarray\n    Its base is a ManagedAllocation.\n"
                                     "\nRaises\n------\n"
                                     "ValueError\n    array is not contiguous.\n"
                                     "\nNotes\n-----\n"
                                     "Calls cuMemAllocManaged.");

static PyObject *managed_empty_like(PyObject *module, FAST_PARAMETERS)
{
    return managed_like(module, managed_empty_like_doc, false, args, arg_count, keywords);
}

PyDoc_STRVAR(managed_zeros_like_doc,
             "managed_zeros_like(array, mem_flags=1)\n--\n\n"
             "Allocate an array in managed memory like another one, filled with zeros.\n"
             "\nParameters\n----------\n"
             "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
             "mem_flags : mem_attach_flags\n    1 is GLOBAL.\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n    Its base is a ManagedAllocation.\n"
             "\nRaises\n------\n"
             "ValueError\n    array is not contiguous.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAllocManaged.");

static PyObject *managed_zeros_like(PyObject *module, FAST_PARAMETERS)
{
    return managed_like(module, managed_zeros_like_doc, true, args, arg_count, keywords);
}

static PyMethodDef functions[] = {
    {"managed_empty", AS_METHOD(managed_empty), FAST_KEYWORDS, managed_empty_doc},
    {"managed_zeros", AS_METHOD(managed_zeros), FAST_KEYWORDS, managed_zeros_doc},
    {"managed_empty_like", AS_METHOD(managed_empty_like), FAST_KEYWORDS, managed_empty_like_doc},
    {"managed_zeros_like", AS_METHOD(managed_zeros_like), FAST_KEYWORDS, managed_zeros_like_doc},
    {NULL, NULL, 0, NULL},
};

int managed_memory_setup(PyObject *module, ModuleState *state)
{
    if (type_add(module, &state->ManagedAllocation_type, &managed_spec, state->DeviceAllocation_type) < 0
        || PyModule_AddObjectRef(module, "ManagedAllocationOrStub", (PyObject *)state->ManagedAllocation_type)
               < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
