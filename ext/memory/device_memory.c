/* See device_memory.h. */
#include "ext/memory/device_memory.h"

#include <stdio.h>
#include <string.h>

#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/keep_alive.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/elsewhere.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* ---- Shortage ---- */

int device_memory_on_shortage(ModuleState *state, GiveBackFn give_back)
{
    if (state->give_back_count == STATE_GIVE_BACK_MAX) {
        PyErr_SetString(PyExc_SystemError, "too many kinds of memory pools");
        return -1;
    }
    state->give_back[state->give_back_count++] = give_back;
    return 0;
}

/* Calls gc.collect(), as PyGC_Collect() does nothing while automatic collection is disabled. */
static void collect_garbage(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *found = gc ? PyObject_CallMethod(gc, "collect", NULL) : NULL;
    if (!found) PyErr_WriteUnraisable(gc);
    Py_XDECREF(found);
    Py_XDECREF(gc);
}

void device_memory_collect(ModuleState *state)
{
    collect_garbage();
    keep_alive_collect(state);
}

void device_memory_reclaim(ModuleState *state)
{
    device_memory_collect(state);
    for (int i = 0; i < state->give_back_count; i++) state->give_back[i](state);
}

/* Whether `size` bytes fit into the memory of the current device when it is empty. If not, a garbage
 * collection, which takes milliseconds, is of no use. */
static bool can_ever_fit(ModuleState *state, size_t size)
{
    size_t free_size, total;
    CUresult result = once_cuMemGetInfo(state, &free_size, &total);
    return result != CUDA_SUCCESS || size <= total;
}

CUresult device_memory_allocate(ModuleState *state, size_t size, CUdeviceptr *out)
{
    CUresult result = try_cuMemAlloc(state, out, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && can_ever_fit(state, size)) {
        device_memory_reclaim(state);
        result = try_cuMemAlloc(state, out, size);
    }
    return result;
}

void device_memory_format(size_t size, char *text, size_t text_size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const double step = 1024; /* from unit to unit */
    double value = (double)size / step;
    size_t unit = 0;
    if ((double)size < step) {
        snprintf(text, text_size, "%zu bytes", size);
        return;
    }
    for (; value >= step && unit + 1 < sizeof units / sizeof units[0]; unit++) value /= step;
    snprintf(text, text_size, "%.1f %s", value, units[unit]);
}

/* *free_size: the free memory of the given context, or, for NULL, of the current one. */
static CUresult ask_free(ModuleState *state, ContextObject *context, size_t *free_size)
{
    ContextScope scope = {0};
    size_t total;
    if (context && !context_enter_scope(context, &scope)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = once_cuMemGetInfo(state, free_size, &total);
    context_leave_scope(&scope);
    return result;
}

PyObject *device_memory_raise(ModuleState *state, ContextObject *context, CUresult result,
                              const char *routine, size_t size)
{
    char asked[32], free_text[32];
    size_t free_size;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || PyErr_Occurred())
        return raise_driver(state, result, routine, NULL);
    device_memory_format(size, asked, sizeof asked);
    if (ask_free(state, context, &free_size) != CUDA_SUCCESS)
        return raise_driver(state, result, routine, "%s asked", asked);
    device_memory_format(free_size, free_text, sizeof free_text);
    return raise_driver(state, result, routine, "%s requested, %s free", asked, free_text);
}

/* ---- DeviceAllocation ---- */

PyObject *device_allocation_new(ModuleState *state, size_t size)
{
    PyObject *self = owner_new(state, state->DeviceAllocation_type);
    if (!self) return NULL;
    device_allocation_cast(self)->size = size;
    CUresult result = device_memory_allocate(state, size, &device_allocation_cast(self)->pointer);
    if (result != CUDA_SUCCESS) device_memory_raise(state, NULL, result, "cuMemAlloc", size);
    return owner_finish(self, result, "cuMemAlloc", &state->live_DeviceAllocation);
}

/* The type's name without the module. */
static const char *type_name(DeviceAllocationObject *allocation)
{
    const char *name = Py_TYPE((PyObject *)allocation)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

int device_allocation_address(DeviceAllocationObject *allocation, CUdeviceptr *out)
{
    *out = allocation->pointer;
    if (!atomic_load(&allocation->freed))
        return context_check(allocation->context, "DeviceAllocation") ? pooled_expose(allocation) : -1;
    raise_logic(allocation->state, "the %s was freed", type_name(allocation));
    return -1;
}

/* Memory to be released when work that the program has abandoned is done. A capsule owns it, which is kept
 * alive until then. */
typedef struct LateMemory {
    ContextObject *context;     /* held */
    CUdeviceptr pointer;
} LateMemory;

static const char late_name[] = "pycuda._driver.LateMemory";

static void release_memory(ContextObject *context, CUdeviceptr pointer);

static void release_late(PyObject *capsule)
{
    LateMemory *late = PyCapsule_GetPointer(capsule, late_name);
    release_memory(late->context, late->pointer);
    context_drop(late->context);
    PyMem_Free(late);
}

/* Called in a scope of the context. If the release would wait for work that a signal has made the program
 * abandon, arranges that the memory is released after that work, and returns true. */
static bool defer_release(ContextObject *context, CUdeviceptr pointer)
{
    ModuleState *state = context->state;
    if (!atomic_load(&state->left_running)) return false;
    CUresult result = once_cuStreamQuery(state, CU_STREAM_LEGACY);
    if (result != CUDA_ERROR_NOT_READY) return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    LateMemory *late = PyMem_Malloc(sizeof *late);
    PyObject *capsule = late ? PyCapsule_New(late, late_name, NULL) : NULL;
    bool kept = capsule && keep_alive(state, context, NULL, capsule, NULL) == 0;
    if (kept) {
        *late = (LateMemory){context_hold(context), pointer};
        PyCapsule_SetDestructor(capsule, section_destructor(release_late));
    } else {
        PyMem_Free(late);
    }
    Py_XDECREF(capsule);
    PyErr_Restore(type, value, trace);
    return kept;
}

static void release_memory(ContextObject *context, CUdeviceptr pointer)
{
    ContextScope scope;
    if (!context_enter_scope(context, &scope)) return;
    if (defer_release(context, pointer)) {
        context_leave_scope(&scope);
        return;
    }
    CUresult result = end_cuMemFree(context->state, pointer);
    context_leave_scope(&scope);
    report_driver(context->state, result, "cuMemFree");
}

static void free_memory(PyObject *self)
{
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    if (allocation->managed)
        LIVE_LESS(allocation->state, ManagedAllocation);
    else
        LIVE_LESS(allocation->state, DeviceAllocation);
    elsewhere_end(allocation, NULL); /* cuMemFree waits for the default stream */
    release_memory(allocation->context, allocation->pointer);
}

void device_allocation_dealloc(PyObject *self)
{
    owner_dealloc(self, device_allocation_dealloc, free_memory);
}

PyDoc_STRVAR(free_doc, "free($self)\n--\n\n"
                       "Free the memory now and not with the last reference.\n"
                       "\nRaises\n------\n"
                       "LogicError\n    The second time.\n"
                       "\nNotes\n-----\n"
                       "Calls cuMemFree.");

static PyObject *allocation_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (owner_release(self, free_memory)) Py_RETURN_NONE;
    return raise_driver(device_allocation_cast(self)->state, CUDA_ERROR_INVALID_HANDLE,
                        "device_allocation::free", "it was already freed");
}

PyDoc_STRVAR(as_buffer_doc,
             "as_buffer($self, size, offset=0)\n--\n\n"
             "The device address as a buffer, for interfaces that take such. On a GPU the host\n"
             "cannot access it.\n"
             "\nParameters\n----------\n"
             "size : int\n    Bytes.\n"
             "offset : int\n    Bytes from the address to the first one of the buffer.\n"
             "\nReturns\n-------\n"
             "memoryview\n    Writable.\n"
             "\nRaises\n------\n"
             "ValueError\n    It would go beyond the allocation.");

static PyObject *allocation_as_buffer(PyObject *self, FAST_PARAMETERS)
{
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    size_t size = 0, offset = 0;
    CUdeviceptr pointer;
    if (READ_ARGUMENTS(as_buffer_doc, INTO(&size), INTO(&offset)) < 0
        || device_allocation_address(allocation, &pointer) < 0)
        return NULL;
    if (offset > allocation->size || size > allocation->size - offset)
        return PyErr_Format(PyExc_ValueError, "%zu bytes at %zu exceed the allocation of %zu bytes", size,
                            offset, allocation->size);
    return PyMemoryView_FromMemory((char *)(uintptr_t)(pointer + offset), (Py_ssize_t)size, PyBUF_WRITE);
}

static PyObject *allocation_int(PyObject *self)
{
    CUdeviceptr pointer;
    if (device_allocation_address(device_allocation_cast(self), &pointer) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(pointer);
}

static PyObject *allocation_long(PyObject *self, PyObject *Py_UNUSED(none)) { return allocation_int(self); }

static PyObject *allocation_repr(PyObject *self)
{
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    return PyUnicode_FromFormat("<%s of %zu bytes at %p%s>", Py_TYPE(self)->tp_name, allocation->size,
                                (void *)(uintptr_t)allocation->pointer,
                                atomic_load(&allocation->freed) ? ", freed" : "");
}

static PyMethodDef allocation_methods[] = {
    {"free", allocation_free, METH_NOARGS, free_doc},
    {"as_buffer", AS_METHOD(allocation_as_buffer), FAST_KEYWORDS, as_buffer_doc},
    {"__long__", allocation_long, METH_NOARGS,
     "__long__($self)\n--\n\n"
     "The device address.\n"
     "\nReturns\n-------\n"
     "int"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef allocation_members[] = {
    {"size", T_PYSSIZET, offsetof(DeviceAllocationObject, size), READONLY, "The bytes that were requested."},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(allocation_doc, "Device memory, freed with the last reference. int() is its address.");

const TypeSpec DeviceAllocation_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.DeviceAllocation", DeviceAllocationObject, Py_TPFLAGS_BASETYPE,
                              allocation_doc),
    .tp_dealloc = device_allocation_dealloc,
    .tp_repr = allocation_repr,
    .nb_int = allocation_int,
    .nb_index = allocation_int,
    TYPE_TABLES(allocation_methods, NULL, allocation_members),
};

/* ---- Functions ---- */

PyDoc_STRVAR(mem_alloc_doc,
             "mem_alloc(bytes)\n--\n\n"
             "Allocate device memory.\n\n"
             "When there is too little, unused memory is collected first and the driver asked again.\n"
             "\nParameters\n----------\n"
             "bytes : int\n    The size (the keyword may be ``size``).\n"
             "\nReturns\n-------\n"
             "DeviceAllocation\n"
             "\nRaises\n------\n"
             "MemoryError\n    There is too little; the message says how much is free.\n"
             "LogicError\n    The size is 0.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAlloc.");

static PyObject *mem_alloc(PyObject *module, FAST_PARAMETERS)
{
    size_t size = 0;
    if (READ_ARGUMENTS(mem_alloc_doc, INTO(&size)) < 0) return NULL;
    return device_allocation_new(module_state(module), size);
}

PyDoc_STRVAR(mem_alloc_like_doc, "mem_alloc_like(ary)\n--\n\n"
                                 "Allocate ``ary.nbytes`` bytes of device memory. Nothing is copied.\n"
                                 "\nParameters\n----------\n"
                                 "ary : numpy.ndarray\n"
                                 "\nReturns\n-------\n"
                                 "DeviceAllocation\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuMemAlloc.");

static PyObject *mem_alloc_like(PyObject *module, FAST_PARAMETERS)
{
    PyObject *array;
    size_t size = 0;
    if (READ_ARGUMENTS(mem_alloc_like_doc, INTO(&array)) < 0) return NULL;
    PyObject *bytes = PyObject_GetAttrString(array, "nbytes");
    int status = bytes ? convert_size(bytes, "nbytes", &size) : -1;
    Py_XDECREF(bytes);
    return status < 0 ? NULL : device_allocation_new(module_state(module), size);
}

PyDoc_STRVAR(mem_alloc_pitch_doc,
             "mem_alloc_pitch(width, height, access_size)\n--\n\n"
             "Allocate device memory for rows that are aligned.\n"
             "\nParameters\n----------\n"
             "width : int\n    Bytes of a row.\n"
             "height : int\n    Rows.\n"
             "access_size : {4, 8, 16}\n    Bytes of the elements that kernels access.\n"
             "\nReturns\n-------\n"
             "(DeviceAllocation, pitch) : tuple\n    pitch is the distance of two rows in bytes.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAllocPitch.");

static PyObject *mem_alloc_pitch(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    size_t width = 0, height = 0, pitch = 0, size = SIZE_MAX;
    unsigned element = 0;
    if (READ_ARGUMENTS(mem_alloc_pitch_doc, INTO(&width), INTO(&height), INTO(&element)) < 0) return NULL;
    PyObject *self = owner_new(state, state->DeviceAllocation_type);
    if (!self) return NULL;
    DeviceAllocationObject *allocation = device_allocation_cast(self);
    CUresult result;
    ALLOCATE(state, result, try_cuMemAllocPitch(state, &allocation->pointer, &pitch, width, height, element));
    if (result != CUDA_SUCCESS) {
        if (__builtin_mul_overflow(width, height, &size)) size = SIZE_MAX;
        device_memory_raise(state, NULL, result, "cuMemAllocPitch", size);
    }
    allocation->size = pitch * height;
    self = owner_finish(self, result, "cuMemAllocPitch", &state->live_DeviceAllocation);
    return self ? Py_BuildValue("(Nn)", self, (Py_ssize_t)pitch) : NULL;
}

PyDoc_STRVAR(mem_get_info_doc, "mem_get_info()\n--\n\n"
                               "Read how much memory the current context's device has.\n"
                               "\nReturns\n-------\n"
                               "(free, total) : tuple of int\n    Bytes.\n"
                               "\nNotes\n-----\n"
                               "Calls cuMemGetInfo.");

static PyObject *mem_get_info(PyObject *module, PyObject *Py_UNUSED(none))
{
    ModuleState *state = module_state(module);
    size_t free_size, total;
    deferred_release(state);
    if (gpu_cuMemGetInfo(state, &free_size, &total) < 0) return NULL;
    return Py_BuildValue("(nn)", (Py_ssize_t)free_size, (Py_ssize_t)total);
}

PyDoc_STRVAR(mem_get_address_range_doc, "mem_get_address_range(ptr)\n--\n\n"
                                        "Find the allocation in which an address lies.\n"
                                        "\nParameters\n----------\n"
                                        "ptr : device address\n"
                                        "\nReturns\n-------\n"
                                        "(base, size) : tuple of int\n    The address and the bytes.\n"
                                        "\nRaises\n------\n"
                                        "LogicError\n    There is none.\n"
                                        "\nNotes\n-----\n"
                                        "Calls cuMemGetAddressRange.");

static PyObject *mem_get_address_range(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *ptr;
    CUdeviceptr pointer, base;
    size_t size;
    if (READ_ARGUMENTS(mem_get_address_range_doc, INTO(&ptr)) < 0
        || convert_pointer(state, ptr, &pointer) < 0)
        return NULL;
    if (gpu_cuMemGetAddressRange(state, &base, &size, pointer) < 0) return NULL;
    return Py_BuildValue("(Kn)", (unsigned long long)base, (Py_ssize_t)size);
}

PyMethodDef device_memory_functions[] = {
    {"mem_alloc", AS_METHOD(mem_alloc), FAST_KEYWORDS, mem_alloc_doc},
    {"mem_alloc_like", AS_METHOD(mem_alloc_like), FAST_KEYWORDS, mem_alloc_like_doc},
    {"mem_alloc_pitch", AS_METHOD(mem_alloc_pitch), FAST_KEYWORDS, mem_alloc_pitch_doc},
    {"mem_get_info", mem_get_info, METH_NOARGS, mem_get_info_doc},
    {"mem_get_address_range", AS_METHOD(mem_get_address_range), FAST_KEYWORDS, mem_get_address_range_doc},
    {NULL, NULL, 0, NULL},
};
