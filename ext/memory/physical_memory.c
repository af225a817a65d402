/* PhysicalMemory, and the granularity of its sizes. See physical_memory.h. */
#include "ext/memory/physical_memory.h"

#include "ext/base/constants.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/device.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"

int physical_memory_device(ModuleState *state, PyObject *value, CUdevice *out)
{
    if (value && value != Py_None) {
        if (PyObject_TypeCheck(value, state->Device_type)) {
            *out = device_cast(value)->handle;
            return 0;
        }
        PyErr_Format(PyExc_TypeError, "device must be a Device or None, not %s", Py_TYPE(value)->tp_name);
        return -1;
    }
    return gpu_cuCtxGetDevice(state, out);
}

bool physical_memory_releases(ModuleState *state)
{
    return !forked_after_init() && !ext_is_finalizing() && !atomic_load(&state->given_up);
}

/* True with LogicError when the memory was freed. */
static bool is_freed(PhysicalMemoryObject *memory)
{
    if (!usage_is_freed(&memory->usage)) return false;
    raise_logic(memory->state, "the PhysicalMemory was freed");
    return true;
}

static CUmemAllocationProp properties_of(CUdevice device, CUmemAllocationHandleType handle_type)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = handle_type,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
    };
}

/* ---- Making ---- */

PyDoc_STRVAR(physical_doc,
             "PhysicalMemory(size, device=None, handle_type=0)\n--\n\n"
             "Memory of a device without an address: AddressRange.map() gives it one, or several.\n\n"
             "It is freed when its last object is gone and nothing is mapped to it anymore, in this\n"
             "process and in those that imported it.\n"
             "\nParameters\n----------\n"
             "size : int\n    Bytes, a multiple of mem_get_allocation_granularity().\n"
             "device : Device\n    None is the current context's.\n"
             "handle_type : mem_handle_type\n"
             "    POSIX_FILE_DESCRIPTOR makes export_fd() possible.\n"
             "\nRaises\n------\n"
             "MemoryError\n    There is too little; the message says how much is free.\n"
             "LogicError\n    The size is none that the device can have.\n"
             "\nNotes\n-----\n"
             "Calls cuMemCreate; with the last reference cuMemRelease.");

/* An object that owns nothing yet. */
static PhysicalMemoryObject *new_empty(ModuleState *state, PyTypeObject *type)
{
    PhysicalMemoryObject *memory = physical_memory_cast(type->tp_alloc(type, 0));
    if (!memory) return NULL;
    memory->state = state;
    usage_init(&memory->usage);
    return memory;
}

static void count_as_owned(PhysicalMemoryObject *memory)
{
    LIVE_MORE(memory->state, PhysicalMemory);
    usage_own(&memory->usage);
}

static CUresult create_memory(PhysicalMemoryObject *memory)
{
    CUmemAllocationProp properties = properties_of(memory->device, memory->handle_type);
    ModuleState *state = memory->state;
    CUresult result;
    ALLOCATE(state, result, try_cuMemCreate(state, &memory->handle, memory->size, &properties, 0));
    return result;
}

/* Raises the error of cuMemCreate. A size that is not a multiple of the granularity is the usual mistake: the
 * message then gives the granularity. Returns NULL. */
static PyObject *raise_creation(PhysicalMemoryObject *memory, CUresult result)
{
    CUmemAllocationProp properties = properties_of(memory->device, memory->handle_type);
    ModuleState *state = memory->state;
    size_t unit = 0;
    CUresult asked;
    if (result != CUDA_ERROR_INVALID_VALUE || PyErr_Occurred())
        return device_memory_raise(state, NULL, result, "cuMemCreate", memory->size);
    asked = once_cuMemGetAllocationGranularity(state, &unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (asked != CUDA_SUCCESS || !unit || (memory->size && memory->size % unit == 0))
        return raise_driver(state, result, "cuMemCreate", NULL);
    return raise_driver(state, result, "cuMemCreate",
                        "the size must be a multiple of %zu bytes (mem_get_allocation_granularity), not %zu",
                        unit, memory->size);
}

static PyObject *physical_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *device_object;
    size_t size = 0;
    CUdevice device;
    unsigned handle_type = CU_MEM_HANDLE_TYPE_NONE;
    if (READ_CALL(physical_doc, INTO(&size), INTO(&device_object), INTO(&handle_type)) < 0
        || physical_memory_device(state, device_object, &device) < 0)
        return NULL;
    deferred_release(state);
    PhysicalMemoryObject *memory = new_empty(state, type);
    if (!memory) return NULL;
    memory->size = size;
    memory->device = device;
    memory->handle_type = handle_type;
    CUresult result = create_memory(memory);
    if (result == CUDA_SUCCESS) {
        count_as_owned(memory);
        return (PyObject *)memory;
    }
    raise_creation(memory, result);
    Py_DECREF((PyObject *)memory);
    return NULL;
}

static void release_handle(PyObject *self)
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    CaptureMode mode;
    LIVE_LESS(memory->state, PhysicalMemory);
    if (!physical_memory_releases(memory->state)) return;
    captured_relax_any(memory->state, &mode);
    CUresult result = once_cuMemRelease(memory->state, memory->handle);
    captured_restore_any(memory->state, &mode);
    report_driver(memory->state, result, "cuMemRelease");
}

/* False when it was already freed. */
static bool release_memory(PhysicalMemoryObject *memory)
{
    UsageEnd end = usage_free(&memory->usage);
    if (end == USAGE_RELEASE_NOW) deferred_free(memory->state, release_handle, (PyObject *)memory);
    return end != USAGE_WAS_FREED;
}

PhysicalMemoryObject *physical_memory_enter(ModuleState *state, PyObject *value)
{
    if (!PyObject_TypeCheck(value, state->PhysicalMemory_type))
        return (void *)PyErr_Format(PyExc_TypeError, "a PhysicalMemory is expected, not %s",
                                    Py_TYPE(value)->tp_name);
    PhysicalMemoryObject *memory = physical_memory_cast(value);
    if (usage_begin(&memory->usage)) return memory;
    return (void *)raise_logic(state, "the PhysicalMemory was freed");
}

void physical_memory_leave(PhysicalMemoryObject *memory)
{
    if (usage_end(&memory->usage)) deferred_free(memory->state, release_handle, (PyObject *)memory);
}

static void physical_dealloc(PyObject *self)
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    if (memory->weak_references) PyObject_ClearWeakRefs(self);
    if (deferred_dealloc(memory->state, physical_dealloc, self)) return;
    release_memory(memory);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Other processes ---- */

PyDoc_STRVAR(export_doc,
             "export_fd($self)\n--\n\n"
             "Make a file descriptor by which another process has the memory: from_fd() there.\n\n"
             "It goes there by a socket (socket.send_fds) or by inheritance, and is the caller's\n"
             "to close. The memory lives as long as the descriptor is open.\n"
             "\nReturns\n-------\n"
             "int\n"
             "\nRaises\n------\n"
             "LogicError\n    The memory was not made with POSIX_FILE_DESCRIPTOR.\n"
             "\nNotes\n-----\n"
             "Calls cuMemExportToShareableHandle.");

static PyObject *physical_export(PyObject *self, PyObject *Py_UNUSED(none))
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    int descriptor = -1;
    if (is_freed(memory)) return NULL;
    if (!(memory->handle_type & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return raise_logic(memory->state,
                           "the PhysicalMemory was made without mem_handle_type.POSIX_FILE_DESCRIPTOR");
    if (!physical_memory_enter(memory->state, self)) return NULL;
    CUresult result = try_cuMemExportToShareableHandle(memory->state, &descriptor, memory->handle,
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    physical_memory_leave(memory);
    return result == CUDA_SUCCESS ? PyLong_FromLong(descriptor)
                                  : raise_driver(memory->state, result, "cuMemExportToShareableHandle", NULL);
}

PyDoc_STRVAR(from_fd_doc,
             "from_fd($type, fd, size)\n--\n\n"
             "The memory of another process, by the file descriptor that export_fd() gave there.\n\n"
             "The descriptor stays open, and may be closed then.\n"
             "\nParameters\n----------\n"
             "fd : int\n"
             "size : int\n    The one that it was made with, which the descriptor does not contain.\n"
             "\nReturns\n-------\n"
             "PhysicalMemory\n"
             "\nNotes\n-----\n"
             "Calls cuMemImportFromShareableHandle, cuMemGetAllocationPropertiesFromHandle.");

static PyObject *physical_from_fd(PyObject *type, FAST_PARAMETERS)
{
    ModuleState *state = state_of_type((PyTypeObject *)type);
    size_t size = 0;
    int descriptor = -1;
    CUmemAllocationProp properties = {0};
    if (READ_ARGUMENTS(from_fd_doc, INTO(&descriptor), INTO(&size)) < 0) return NULL;
    if (descriptor < 0)
        return PyErr_Format(PyExc_ValueError, "fd must not be negative, as %d is", descriptor);
    PhysicalMemoryObject *memory = new_empty(state, (PyTypeObject *)type);
    if (!memory) return NULL;
    if (gpu_cuMemImportFromShareableHandle(state, &memory->handle, (void *)(intptr_t)descriptor,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        < 0) {
        Py_DECREF((PyObject *)memory);
        return NULL;
    }
    count_as_owned(memory);
    memory->size = size;
    if (gpu_cuMemGetAllocationPropertiesFromHandle(state, &properties, memory->handle) < 0) {
        Py_DECREF((PyObject *)memory);
        return NULL;
    }
    memory->device = properties.location.id;
    memory->handle_type = properties.requestedHandleTypes;
    return (PyObject *)memory;
}

/* ---- The type ---- */

PyDoc_STRVAR(free_doc, "free($self)\n--\n\n"
                       "Release the memory now and not with the last reference.\n\n"
                       "What it is mapped to keeps it.\n"
                       "\nRaises\n------\n"
                       "LogicError\n    The second time.\n"
                       "\nNotes\n-----\n"
                       "Calls cuMemRelease.");

static PyObject *physical_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    if (release_memory(memory)) Py_RETURN_NONE;
    return raise_logic(memory->state, "the PhysicalMemory was already freed");
}

static PyObject *physical_get_device(PyObject *self, void *Py_UNUSED(closure))
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    return device_new(memory->state, memory->device);
}

static PyObject *physical_get_handle_type(PyObject *self, void *Py_UNUSED(closure))
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    return constants_member(memory->state, memory->state->mem_handle_type, (long)memory->handle_type);
}

static PyObject *physical_get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    return is_freed(memory) ? NULL : PyLong_FromUnsignedLongLong(memory->handle);
}

static PyObject *physical_repr(PyObject *self)
{
    PhysicalMemoryObject *memory = physical_memory_cast(self);
    return PyUnicode_FromFormat("<%s of %zu bytes on device %d%s>", Py_TYPE(self)->tp_name, memory->size,
                                memory->device, usage_is_freed(&memory->usage) ? ", freed" : "");
}

static PyMethodDef physical_methods[] = {
    {"export_fd", physical_export, METH_NOARGS, export_doc},
    {"from_fd", AS_METHOD(physical_from_fd), FAST_KEYWORDS | METH_CLASS, from_fd_doc},
    {"free", physical_free, METH_NOARGS, free_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef physical_members[] = {
    {"size", T_PYSSIZET, offsetof(PhysicalMemoryObject, size), READONLY, "Its bytes."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef physical_properties[] = {
    {"device", physical_get_device, NULL, "The Device that has it.", NULL},
    {"handle_type", physical_get_handle_type, NULL, "How it can be exported: a mem_handle_type.", NULL},
    {"handle", physical_get_handle, NULL, "The driver's handle, an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec PhysicalMemory_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.PhysicalMemory", PhysicalMemoryObject, 0, physical_doc),
    .tp_new = physical_new,
    .tp_dealloc = physical_dealloc,
    .tp_repr = physical_repr,
    TYPE_TABLES(physical_methods, physical_properties, physical_members),
};

/* ---- Granularity ---- */

PyDoc_STRVAR(granularity_doc,
             "mem_get_allocation_granularity(device=None, option=0)\n--\n\n"
             "What sizes of physical memory, and offsets where it is mapped, must be multiples of.\n"
             "\nParameters\n----------\n"
             "device : Device\n    None is the current context's.\n"
             "option : mem_alloc_granularity\n    MINIMUM, or RECOMMENDED for the best speed.\n"
             "\nReturns\n-------\n"
             "int\n    Bytes.\n"
             "\nNotes\n-----\n"
             "Calls cuMemGetAllocationGranularity.");

static PyObject *mem_get_allocation_granularity(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *device_object;
    CUdevice device;
    unsigned option = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    size_t bytes = 0;
    if (READ_ARGUMENTS(granularity_doc, INTO(&device_object), INTO(&option)) < 0
        || physical_memory_device(state, device_object, &device) < 0)
        return NULL;
    CUmemAllocationProp properties = properties_of(device, CU_MEM_HANDLE_TYPE_NONE);
    return gpu_cuMemGetAllocationGranularity(state, &bytes, &properties, option) < 0
               ? NULL
               : PyLong_FromSize_t(bytes);
}

PyMethodDef physical_memory_functions[] = {
    {"mem_get_allocation_granularity", AS_METHOD(mem_get_allocation_granularity), FAST_KEYWORDS,
     granularity_doc},
    {NULL, NULL, 0, NULL},
};
