/* See host_memory.h. */
#include "ext/memory/host_memory.h"

#include <stdlib.h>

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/memory/device_memory.h"

/* ---- Making ---- */

static PyObject *new_memory(ModuleState *state, PyTypeObject *type, HostKind kind, size_t size)
{
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    host_memory_cast(self)->kind = kind;
    host_memory_cast(self)->size = size;
    return self;
}

PyObject *host_memory_pagelocked(ModuleState *state, size_t size, unsigned flags)
{
    size_t min = size ? size : 1;
    PyObject *self = new_memory(state, state->PagelockedHostAllocation_type, HOST_PAGELOCKED, size);
    if (!self) return NULL;
    void **pointer = &host_memory_cast(self)->memory;
    CUresult result;
    ALLOCATE(state, result, try_cuMemHostAlloc(state, pointer, min, flags));
    if (result != CUDA_SUCCESS) raise_driver(state, result, "cuMemHostAlloc", "%zu bytes requested", size);
    return owner_finish(self, result, "cuMemHostAlloc", &state->live_PagelockedHostAllocation);
}

PyObject *host_memory_aligned(ModuleState *state, size_t size, size_t alignment)
{
    if (alignment == 0 || (alignment & (alignment - 1)))
        return raise_logic(state, "alignment must be a power of two, not %zu", alignment);
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    PyTypeObject *type = state->AlignedHostAllocation_type;
    HostMemoryObject *memory = host_memory_cast(type->tp_alloc(type, 0));
    if (!memory) return NULL;
    memory->state = state;
    memory->kind = HOST_ALIGNED;
    memory->size = size;
    if (posix_memalign(&memory->memory, alignment, size ? size : 1) == 0) return (PyObject *)memory;
    memory->memory = NULL;
    Py_DECREF((PyObject *)memory);
    return PyErr_Format(PyExc_MemoryError, "the host could not allocate %zu bytes of memory aligned to %zu",
                        size, alignment);
}

PyObject *host_memory_register(ModuleState *state, PyObject *base, void *pointer, size_t size, unsigned flags)
{
    PyObject *self = new_memory(state, state->RegisteredHostMemory_type, HOST_REGISTERED, size);
    if (!self) return NULL;
    host_memory_cast(self)->memory = pointer;
    host_memory_cast(self)->base = Py_NewRef(base);
    CUresult result = try_cuMemHostRegister(state, pointer, size, flags);
    if (result != CUDA_SUCCESS)
        raise_driver(state, result, "cuMemHostRegister", "%zu bytes at %p", size, pointer);
    return owner_finish(self, result, "cuMemHostRegister", &state->live_RegisteredHostMemory);
}

/* ---- Releasing ---- */

/* Releases the memory or the page-lock. If the context is gone the driver has done so. */
static void release(PyObject *self)
{
    HostMemoryObject *memory = host_memory_cast(self);
    if (memory->kind == HOST_ALIGNED) {
        free(memory->memory);
    } else if (memory->kind == HOST_REGISTERED) {
        LIVE_LESS(memory->state, RegisteredHostMemory);
        RELEASE_IN_CONTEXT(memory->context, end, cuMemHostUnregister, memory->memory);
    } else {
        LIVE_LESS(memory->state, PagelockedHostAllocation);
        RELEASE_IN_CONTEXT(memory->context, end, cuMemFreeHost, memory->memory);
    }
}

static int memory_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(host_memory_cast(self)->base);
    return 0;
}

/* The base has to outlive the page-lock of its memory: so there is no tp_clear, and it is released here. */
static void memory_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, memory_dealloc, release)) return;
    Py_CLEAR(host_memory_cast(self)->base);
    owner_dealloc_end(self);
}

/* ---- Methods ---- */

static PyObject *free_or_raise(PyObject *self, const char *routine)
{
    if (owner_release(self, release)) Py_RETURN_NONE;
    return raise_driver(host_memory_cast(self)->state, CUDA_ERROR_INVALID_HANDLE, routine,
                        "it was already released");
}

static PyObject *memory_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    return free_or_raise(self, "host_allocation::free");
}

static PyObject *memory_unregister(PyObject *self, PyObject *Py_UNUSED(none))
{
    return free_or_raise(self, "registered_host_memory::unregister");
}

/* False with LogicError when the memory was released, or its context is gone. */
static bool check_held(HostMemoryObject *memory)
{
    if (atomic_load(&memory->freed)) {
        raise_logic(memory->state, "the %s was released",
                    memory->kind == HOST_REGISTERED ? "page-lock" : "host memory");
        return false;
    }
    return !memory->context || context_check(memory->context, "HostPointer");
}

PyDoc_STRVAR(get_device_pointer_doc,
             "get_device_pointer($self)\n--\n\n"
             "The address by which the device accesses this memory, if it was mapped.\n"
             "\nReturns\n-------\n"
             "int\n"
             "\nNotes\n-----\n"
             "Calls cuMemHostGetDevicePointer.");

static PyObject *memory_get_device_pointer(PyObject *self, PyObject *Py_UNUSED(none))
{
    HostMemoryObject *memory = host_memory_cast(self);
    CUdeviceptr pointer;
    if (!check_held(memory)) return NULL;
    return gpu_cuMemHostGetDevicePointer(memory->state, &pointer, memory->memory, 0) < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(pointer);
}

PyDoc_STRVAR(get_flags_doc, "get_flags($self)\n--\n\n"
                            "Read the host_alloc_flags of this memory.\n"
                            "\nReturns\n-------\n"
                            "int\n"
                            "\nNotes\n-----\n"
                            "Calls cuMemHostGetFlags.");

static PyObject *memory_get_flags(PyObject *self, PyObject *Py_UNUSED(none))
{
    HostMemoryObject *memory = host_memory_cast(self);
    unsigned flags;
    if (!check_held(memory)) return NULL;
    return gpu_cuMemHostGetFlags(memory->state, &flags, memory->memory) < 0 ? NULL
                                                                            : PyLong_FromUnsignedLong(flags);
}

static PyObject *memory_get_base(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *base = host_memory_cast(self)->base;
    return Py_NewRef(base ? base : Py_None);
}

/* ---- The types ---- */

PyDoc_STRVAR(pagelocked_free_doc, "free($self)\n--\n\n"
                                  "Free the memory now; its arrays must not be used again.\n"
                                  "\nRaises\n------\n"
                                  "LogicError\n    The second time.\n"
                                  "\nNotes\n-----\n"
                                  "Calls cuMemFreeHost.");

PyDoc_STRVAR(aligned_free_doc, "free($self)\n--\n\n"
                               "Free the memory now; its arrays must not be used again.\n"
                               "\nRaises\n------\n"
                               "LogicError\n    The second time.");

PyDoc_STRVAR(registered_free_doc, "free($self)\n--\n\n"
                                  "Another name of unregister.");

static PyMethodDef pointer_methods[] = {
    {"get_device_pointer", memory_get_device_pointer, METH_NOARGS, get_device_pointer_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef pointer_members[] = {
    {"size", T_PYSSIZET, offsetof(HostMemoryObject, size), READONLY, "Bytes."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef pagelocked_methods[] = {
    {"free", memory_free, METH_NOARGS, pagelocked_free_doc},
    {"get_flags", memory_get_flags, METH_NOARGS, get_flags_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef aligned_methods[] = {
    {"free", memory_free, METH_NOARGS, aligned_free_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef registered_methods[] = {
    {"unregister", memory_unregister, METH_NOARGS,
     "unregister($self)\n--\n\n"
     "End the page-lock; the memory stays.\n"
     "\nRaises\n------\n"
     "LogicError\n    The second time.\n"
     "\nNotes\n-----\n"
     "Calls cuMemHostUnregister."},
    {"free", memory_free, METH_NOARGS, registered_free_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef registered_properties[] = {
    {"base", memory_get_base, NULL, "The object whose memory it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec HostPointer_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.HostPointer", HostMemoryObject, Py_TPFLAGS_BASETYPE,
                              "Host memory that is registered with the driver; base class."),
    .tp_dealloc = memory_dealloc,
    .tp_traverse = memory_traverse,
    TYPE_TABLES(pointer_methods, NULL, pointer_members),
};

#define HOST_SPEC(type, doc, methods, properties) \
    {TYPE_OF("pycuda.driver." #type, HostMemoryObject, 0, doc), .tp_dealloc = memory_dealloc, \
     .tp_traverse = memory_traverse, .tp_methods = methods, .tp_getset = properties}

const TypeSpec PagelockedHostAllocation_spec = HOST_SPEC(
    PagelockedHostAllocation,
    "Page-locked memory, the base of the arrays that pagelocked_empty and similar functions return.",
    pagelocked_methods, NULL);
const TypeSpec AlignedHostAllocation_spec =
    HOST_SPEC(AlignedHostAllocation,
              "Aligned memory, the base of the arrays that aligned_empty and similar functions return.",
              aligned_methods, NULL);
const TypeSpec RegisteredHostMemory_spec = HOST_SPEC(
    RegisteredHostMemory, "The page-lock of register_host_memory, the base of the array that it returns.",
    registered_methods, registered_properties);
