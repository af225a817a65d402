/* AddressRange: reserved addresses, to which physical memory is mapped. They stay reserved when it is
 * unmapped.
 *
 * The driver's mappings belong to no context. The range holds the context that it was made in, whose work is
 * waited for before anything is unmapped: the driver may not wait. Mappings are recorded here, so that they
 * are unmapped one by one and as a whole.
 *
 * Calls that change mappings release the GIL. So each call first claims the mappings that it changes, or adds
 * a claimed one, and calls of other threads leave claimed mappings alone. free() during such a call releases
 * the range after it. */
#include "ext/base/constants.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/owner.h"
#include "ext/convert/convert.h"
#include "ext/memory/physical_memory.h"

/* The bytes of the range in which a call changes mappings. */
typedef struct Part {
    size_t offset, end;
} Part;

/* A part of the range to which physical memory is mapped, or is about to be. */
typedef struct RangeMapping {
    struct RangeMapping *next; /* by offset */
    size_t offset, size;
    const Part *claim; /* of the call that is changing this mapping, or NULL */
    bool made; /* the driver has it; until then it only keeps others away */
} RangeMapping;

/* Begins as every PointerHolderBase does: with the list of weak references. */
typedef struct AddressRangeObject {
    OWNER_HEAD
    CUdeviceptr pointer;
    size_t size;
    Usage usage;
    RangeMapping *mappings; /* owned; under state_lock */
} AddressRangeObject;

static AddressRangeObject *range_cast(PyObject *object) { return (AddressRangeObject *)object; }

/* ---- Mappings ---- */

/* Adds a mapping that fills the part and is claimed by it, before the driver has it. -1 with LogicError when
 * something is mapped there, or with MemoryError. */
static int add_mapping(AddressRangeObject *range, const Part *part)
{
    RangeMapping *mapping = PyMem_RawMalloc(sizeof *mapping);
    if (!mapping) {
        PyErr_NoMemory();
        return -1;
    }
    state_lock(range->state);
    RangeMapping **link = &range->mappings;
    while (*link && (*link)->offset + (*link)->size <= part->offset) link = &(*link)->next;
    bool free = !*link || (*link)->offset >= part->end;
    if (free) {
        *mapping = (RangeMapping){*link, part->offset, part->end - part->offset, part, false};
        *link = mapping;
    }
    state_unlock(range->state);
    if (free) return 0;
    PyMem_RawFree(mapping);
    raise_logic(range->state, "something is already mapped there (AddressRange.mappings)");
    return -1;
}

/* *out: a copy of the first mapping at or after the offset that the driver has. part: only mappings that it
 * has claimed count; NULL: all do. False when there is none. */
static bool next_mapping(AddressRangeObject *range, const Part *part, size_t offset, RangeMapping *out)
{
    state_lock(range->state);
    const RangeMapping *mapping = range->mappings;
    while (mapping && (!mapping->made || mapping->offset < offset || (part && mapping->claim != part)))
        mapping = mapping->next;
    if (mapping) *out = *mapping;
    state_unlock(range->state);
    return mapping != NULL;
}

static void remove_mapping(AddressRangeObject *range, size_t offset)
{
    state_lock(range->state);
    RangeMapping **link = &range->mappings, *found;
    while (*link && (*link)->offset != offset) link = &(*link)->next;
    if ((found = *link)) *link = found->next;
    state_unlock(range->state);
    PyMem_RawFree(found);
}

/* Which mappings there are in a part. */
typedef enum PartState {
    PART_EMPTY, /* none */
    PART_WHOLE, /* whole ones that no call has claimed */
    PART_CUT, /* one that is only partly in it */
    PART_CLAIMED /* whole ones, of which a call has claimed one */
} PartState;

static PartState part_state_locked(const AddressRangeObject *range, const Part *part)
{
    PartState found = PART_EMPTY;
    for (const RangeMapping *m = range->mappings; m; m = m->next) {
        if (!m->made || m->offset >= part->end || m->offset + m->size <= part->offset) continue;
        if (m->offset < part->offset || m->offset + m->size > part->end) return PART_CUT;
        if (found != PART_CLAIMED) found = m->claim ? PART_CLAIMED : PART_WHOLE;
    }
    return found;
}

/* Claims all mappings in a part. -1 with an exception unless it is PART_WHOLE. */
static int claim_part(AddressRangeObject *range, const Part *part)
{
    state_lock(range->state);
    PartState found = part_state_locked(range, part);
    for (RangeMapping *m = range->mappings; found == PART_WHOLE && m; m = m->next)
        if (m->made && m->offset >= part->offset && m->offset < part->end) m->claim = part;
    state_unlock(range->state);
    if (found == PART_WHOLE) return 0;
    if (found == PART_CLAIMED)
        raise_logic(range->state, "another thread is unmapping or setting access there");
    else
        PyErr_Format(
            PyExc_ValueError,
            found == PART_CUT
                ? "a mapping is only partly within the %zu bytes at offset %zu (AddressRange.mappings)"
                : "nothing is mapped in the %zu bytes at offset %zu of the AddressRange",
            part->end > part->offset ? part->end - part->offset : 0, part->offset);
    return -1;
}

/* Ends the claim. The driver has all claimed mappings that are still in the list, also an added one. */
static void unclaim_part(AddressRangeObject *range, const Part *part)
{
    state_lock(range->state);
    for (RangeMapping *m = range->mappings; m; m = m->next) {
        if (m->claim != part) continue;
        m->claim = NULL;
        m->made = true;
    }
    state_unlock(range->state);
}

/* *out: the part that the arguments offset and size mean; a size of None or NULL reaches to the end of the
 * range. Claims its mappings. -1 with an exception, as claim_part(). */
static int convert_part(AddressRangeObject *range, PyObject *offset, PyObject *size, Part *out)
{
    size_t length = SIZE_MAX;
    *out = (Part){0, range->size};
    if (convert_size(offset, "offset", &out->offset) < 0) return -1;
    if (size && size != Py_None && convert_size(size, "size", &length) < 0) return -1;
    if (out->offset <= range->size && length < range->size - out->offset) out->end = out->offset + length;
    return claim_part(range, out);
}

/* ---- Making and releasing ---- */

PyDoc_STRVAR(range_doc,
             "AddressRange(size, alignment=0, address=0)\n--\n\n"
             "Reserved device addresses: map() maps physical memory to them, piece by piece.\n\n"
             "It is taken wherever a DeviceAllocation is; int() is the first address. With its last\n"
             "reference all that is mapped is unmapped, after the work of the context in which it was made.\n"
             "\nParameters\n----------\n"
             "size : int\n    Bytes, a multiple of mem_get_allocation_granularity().\n"
             "alignment : int\n    Of the first address, a power of two. 0 is the driver's choice.\n"
             "address : int\n    Where it should be, if that is possible.\n"
             "\nNotes\n-----\n"
             "Calls cuMemAddressReserve; at its end cuMemFree, which waits, cuMemUnmap, cuMemAddressFree.");

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    size_t size = 0, alignment = 0;
    unsigned long long address = 0;
    if (READ_CALL(range_doc, INTO(&size), INTO(&alignment), INTO(&address)) < 0) return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    AddressRangeObject *range = range_cast(self);
    range->size = size;
    CUresult result = try_cuMemAddressReserve(state, &range->pointer, size, alignment, address, 0);
    if (result == CUDA_ERROR_INVALID_VALUE)
        raise_driver(state, result, "cuMemAddressReserve",
                     "the size must be a multiple of mem_get_allocation_granularity(), the alignment a power "
                     "of two");
    return owner_finish(self, result, "cuMemAddressReserve", &state->live_AddressRange);
}

/* Waits for the work of the range's context, unless that has ended. Failures are reported. */
static void wait_for_work(AddressRangeObject *range)
{
    ContextScope scope;
    const char *routine;
    if (!context_enter_scope(range->context, &scope)) return;
    CUresult result = wait_for_release(range->state, &routine);
    context_leave_scope(&scope);
    report_driver(range->state, result, routine);
}

static void unmap_all(AddressRangeObject *range)
{
    RangeMapping mapping;
    for (; next_mapping(range, NULL, 0, &mapping); remove_mapping(range, mapping.offset)) {
        report_driver(range->state,
                      end_cuMemUnmap(range->state, range->pointer + mapping.offset, mapping.size),
                      "cuMemUnmap");
    }
}

static void release_range(PyObject *self)
{
    AddressRangeObject *range = range_cast(self);
    RangeMapping mapping;
    CaptureMode mode;
    LIVE_LESS(range->state, AddressRange);
    if (!physical_memory_releases(range->state)) {
        while (next_mapping(range, NULL, 0, &mapping)) remove_mapping(range, mapping.offset);
        return;
    }
    if (range->mappings) wait_for_work(range);
    captured_relax_any(range->state, &mode);
    unmap_all(range);
    CUresult result = once_cuMemAddressFree(range->state, range->pointer, range->size);
    captured_restore_any(range->state, &mode);
    report_driver(range->state, result, "cuMemAddressFree");
}

/* False when it was already freed. */
static bool free_range(AddressRangeObject *range)
{
    UsageEnd end = usage_free(&range->usage);
    if (end == USAGE_RELEASE_NOW) deferred_free(range->state, release_range, (PyObject *)range);
    return end != USAGE_WAS_FREED;
}

/* Called after a successful enter_range(). Returns `result`, for callers that return it. */
static PyObject *leave_range(AddressRangeObject *range, PyObject *result)
{
    if (usage_end(&range->usage)) deferred_free(range->state, release_range, (PyObject *)range);
    return result;
}

/* Called before calls that release the GIL, so that the addresses stay reserved. -1 with LogicError when the
 * range was freed or its context is gone. */
static int enter_range(AddressRangeObject *range)
{
    if (!usage_begin(&range->usage)) {
        raise_logic(range->state, "the AddressRange was freed");
        return -1;
    }
    if (context_check(range->context, "AddressRange")) return 0;
    leave_range(range, NULL);
    return -1;
}

static void free_last(PyObject *self) { free_range(range_cast(self)); }

static void range_dealloc(PyObject *self) { owner_dealloc(self, range_dealloc, free_last); }

/* ---- Methods ---- */

PyDoc_STRVAR(map_doc,
             "map($self, offset, physical, access=3)\n--\n\n"
             "Map physical memory to the addresses from an offset on.\n"
             "\nParameters\n----------\n"
             "offset : int\n"
             "    Bytes from the first address, a multiple of mem_get_allocation_granularity().\n"
             "physical : PhysicalMemory\n"
             "    It is mapped whole: drivers map no parts. It may be freed afterwards: the mapping\n"
             "    keeps the memory.\n"
             "access : mem_access_flags\n"
             "    What the memory's device may do with it; set_access() is for other devices.\n"
             "\nRaises\n------\n"
             "ValueError\n    The range ends before.\n"
             "LogicError\n    Something is mapped there already, or the offset is none.\n"
             "\nNotes\n-----\n"
             "Calls cuMemMap, cuMemSetAccess.");

/* cuMemSetAccess of `size` bytes at `offset`. */
static CUresult set_driver_access(AddressRangeObject *range, size_t offset, size_t size, CUdevice device,
                                  unsigned access)
{
    CUmemAccessDesc wanted = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, access};
    return try_cuMemSetAccess(range->state, range->pointer + offset, size, &wanted, 1);
}

static PyObject *raise_map(ModuleState *state, CUresult result, const char *routine, const Part *part)
{
    return raise_driver(state, result, routine,
                        result == CUDA_ERROR_NOT_SUPPORTED
                            ? "%zu bytes at offset %zu: a PhysicalMemory can only be mapped as a whole; was "
                              "from_fd() called with the right size?"
                            : "%zu bytes at offset %zu (both must be multiples of "
                              "mem_get_allocation_granularity())",
                        part->end - part->offset, part->offset);
}

/* Maps memory to the part that add_mapping() has added, which is removed again when this fails. */
static PyObject *map_part(AddressRangeObject *range, PhysicalMemoryObject *physical, const Part *part,
                          unsigned access)
{
    ModuleState *state = range->state;
    CUdeviceptr address = range->pointer + part->offset;
    size_t size = physical->size;
    const char *routine = "cuMemMap";
    CUresult result = try_cuMemMap(state, address, size, 0, physical->handle, 0);
    if (result == CUDA_SUCCESS && access != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        routine = "cuMemSetAccess";
        result = set_driver_access(range, part->offset, size, physical->device, access);
        if (result != CUDA_SUCCESS) once_cuMemUnmap(state, address, size);
    }
    if (result == CUDA_SUCCESS) {
        unclaim_part(range, part);
        Py_RETURN_NONE;
    }
    remove_mapping(range, part->offset);
    return raise_map(state, result, routine, part);
}

static PyObject *map_memory(AddressRangeObject *range, size_t offset, PhysicalMemoryObject *physical,
                            unsigned access)
{
    const Part part = {offset, offset + physical->size};
    if (offset > range->size || physical->size > range->size - offset)
        return PyErr_Format(PyExc_ValueError, "%zu bytes at offset %zu exceed the AddressRange of %zu bytes",
                            physical->size, offset, range->size);
    return add_mapping(range, &part) < 0 ? NULL : map_part(range, physical, &part, access);
}

static PyObject *range_map(PyObject *self, FAST_PARAMETERS)
{
    AddressRangeObject *range = range_cast(self);
    PhysicalMemoryObject *physical;
    PyObject *physical_object;
    size_t offset = 0;
    unsigned access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (READ_ARGUMENTS(map_doc, INTO(&offset), INTO(&physical_object), INTO(&access)) < 0
        || !(physical = physical_memory_enter(range->state, physical_object)))
        return NULL;
    PyObject *done = NULL;
    if (enter_range(range) == 0) done = leave_range(range, map_memory(range, offset, physical, access));
    physical_memory_leave(physical);
    return done;
}

PyDoc_STRVAR(unmap_doc,
             "unmap($self, offset=0, size=None)\n--\n\n"
             "Take the memory away from the addresses, after the work of the context in which the range\n"
             "was made. They stay reserved.\n"
             "\nParameters\n----------\n"
             "offset : int\n    Bytes from the first address.\n"
             "size : int\n    Bytes of whole mappings. None is all that is mapped from there on.\n"
             "\nRaises\n------\n"
             "ValueError\n    Nothing is mapped there, or a mapping would be cut.\n"
             "\nNotes\n-----\n"
             "Calls cuCtxSynchronize, cuMemUnmap.");

/* Called after a failed call: the failure may come from work that was queued before. */
static bool is_still_mapped(AddressRangeObject *range, const RangeMapping *mapping)
{
    unsigned mapped = 1;
    once_cuPointerGetAttribute(range->state, &mapped, CU_POINTER_ATTRIBUTE_MAPPED,
                               range->pointer + mapping->offset);
    return mapped != 0;
}

/* Waits for the work of the range's context, for unmap(): a signal may end the wait. *routine: the driver
 * function that gave the result. */
static CUresult wait_before_unmap(AddressRangeObject *range, const char **routine)
{
    ContextScope scope;
    *routine = "cuCtxSynchronize";
    if (!context_lend(range->context, &scope))
        return atomic_load(&range->context->dead) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                  : CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = captured_wait_for_context(range->state, routine);
    context_lend_end(&scope);
    return result;
}

/* Unmaps all mappings that the part has claimed, up to the first error. NULL with an exception. */
static PyObject *unmap_claimed(AddressRangeObject *range, const Part *part)
{
    RangeMapping mapping;
    const char *routine;
    CUresult result = wait_before_unmap(range, &routine);
    if (result != CUDA_SUCCESS) return raise_driver(range->state, result, routine, NULL);
    while (next_mapping(range, part, 0, &mapping)) {
        result = try_cuMemUnmap(range->state, range->pointer + mapping.offset, mapping.size);
        if (result == CUDA_SUCCESS || !is_still_mapped(range, &mapping))
            remove_mapping(range, mapping.offset);
        if (result != CUDA_SUCCESS) return raise_driver(range->state, result, "cuMemUnmap", NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *range_unmap(PyObject *self, FAST_PARAMETERS)
{
    AddressRangeObject *range = range_cast(self);
    PyObject *given[2], *done = NULL;
    Part part;
    if (convert_arguments(unmap_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || host_function_refuses(range->state, "cuMemUnmap") || enter_range(range) < 0)
        return NULL;
    if (convert_part(range, given[0], given[1], &part) == 0) {
        done = unmap_claimed(range, &part);
        unclaim_part(range, &part);
    }
    return leave_range(range, done);
}

PyDoc_STRVAR(set_access_doc,
             "set_access($self, access, device=None, offset=0, size=None)\n--\n\n"
             "Say what a device may do with the memory that is mapped.\n"
             "\nParameters\n----------\n"
             "access : mem_access_flags\n"
             "device : Device\n    None is the current context's.\n"
             "offset : int\n    Bytes from the first address.\n"
             "size : int\n    Bytes of whole mappings. None is all that is mapped from there on.\n"
             "\nRaises\n------\n"
             "ValueError\n    Nothing is mapped there, or a mapping would be cut.\n"
             "\nNotes\n-----\n"
             "Calls cuMemSetAccess.");

static PyObject *set_access_claimed(AddressRangeObject *range, const Part *part, CUdevice device,
                                    unsigned access)
{
    RangeMapping mapping;
    for (size_t at = 0; next_mapping(range, part, at, &mapping); at = mapping.offset + mapping.size) {
        CUresult result = set_driver_access(range, mapping.offset, mapping.size, device, access);
        if (result != CUDA_SUCCESS) return raise_driver(range->state, result, "cuMemSetAccess", NULL);
    }
    Py_RETURN_NONE;
}

static PyObject *range_set_access(PyObject *self, FAST_PARAMETERS)
{
    AddressRangeObject *range = range_cast(self);
    PyObject *device_object, *offset, *size, *done = NULL;
    Part part;
    unsigned access = 0;
    CUdevice device;
    if (READ_ARGUMENTS(set_access_doc, INTO(&access), INTO(&device_object), INTO(&offset), INTO(&size)) < 0
        || enter_range(range) < 0)
        return NULL;
    if (physical_memory_device(range->state, device_object, &device) == 0
        && convert_part(range, offset, size, &part) == 0) {
        done = set_access_claimed(range, &part, device, access);
        unclaim_part(range, &part);
    }
    return leave_range(range, done);
}

PyDoc_STRVAR(get_access_doc, "get_access($self, device=None, offset=0)\n--\n\n"
                             "Ask what a device may do with the memory at an offset.\n"
                             "\nParameters\n----------\n"
                             "device : Device\n    None is the current context's.\n"
                             "offset : int\n    Bytes from the first address.\n"
                             "\nReturns\n-------\n"
                             "mem_access_flags\n"
                             "\nRaises\n------\n"
                             "LogicError\n    Nothing is mapped there.\n"
                             "\nNotes\n-----\n"
                             "Calls cuMemGetAccess.");

static PyObject *range_get_access(PyObject *self, FAST_PARAMETERS)
{
    AddressRangeObject *range = range_cast(self);
    PyObject *device;
    size_t offset = 0;
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    unsigned long long access = 0;
    if (READ_ARGUMENTS(get_access_doc, INTO(&device), INTO(&offset)) < 0
        || physical_memory_device(range->state, device, &location.id) < 0)
        return NULL;
    if (offset >= range->size)
        return PyErr_Format(PyExc_ValueError, "offset %zu is beyond the AddressRange of %zu bytes", offset,
                            range->size);
    if (enter_range(range) < 0) return NULL;
    CUresult result = try_cuMemGetAccess(range->state, &access, &location, range->pointer + offset);
    leave_range(range, NULL);
    return result == CUDA_SUCCESS
               ? constants_member(range->state, range->state->mem_access_flags, (long)access)
               : raise_driver(range->state, result, "cuMemGetAccess", NULL);
}

PyDoc_STRVAR(free_doc, "free($self)\n--\n\n"
                       "Unmap everything and give the addresses back now, and not with the last reference.\n"
                       "\nRaises\n------\n"
                       "LogicError\n    The second time.\n"
                       "\nNotes\n-----\n"
                       "Calls cuMemFree, which waits, cuMemUnmap, cuMemAddressFree.");

static PyObject *range_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (free_range(range_cast(self))) Py_RETURN_NONE;
    return raise_logic(range_cast(self)->state, "the AddressRange was already freed");
}

/* The first address as an int. NULL with LogicError when the range was freed or its context is gone. */
static PyObject *range_pointer(PyObject *self)
{
    AddressRangeObject *range = range_cast(self);
    if (enter_range(range) < 0) return NULL;
    return leave_range(range, PyLong_FromUnsignedLongLong(range->pointer));
}

static PyObject *range_get_pointer(PyObject *self, PyObject *Py_UNUSED(none)) { return range_pointer(self); }

static PyObject *range_get_ptr(PyObject *self, void *Py_UNUSED(closure)) { return range_pointer(self); }

static PyObject *range_get_mappings(PyObject *self, void *Py_UNUSED(closure))
{
    AddressRangeObject *range = range_cast(self);
    RangeMapping mapping;
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list && next_mapping(range, NULL, at, &mapping); at = mapping.offset + 1) {
        PyObject *pair = Py_BuildValue("(nn)", (Py_ssize_t)mapping.offset, (Py_ssize_t)mapping.size);
        if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *range_repr(PyObject *self)
{
    AddressRangeObject *range = range_cast(self);
    return PyUnicode_FromFormat("<%s of %zu bytes at %p%s>", Py_TYPE(self)->tp_name, range->size,
                                (void *)(uintptr_t)range->pointer,
                                usage_is_freed(&range->usage) ? ", freed" : "");
}

/* Does nothing, as tp_new has done it: subclasses may call the __init__ of the base class. */
static int range_init(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return 0;
}

static PyMethodDef range_methods[] = {
    {"map", AS_METHOD(range_map), FAST_KEYWORDS, map_doc},
    {"unmap", AS_METHOD(range_unmap), FAST_KEYWORDS, unmap_doc},
    {"set_access", AS_METHOD(range_set_access), FAST_KEYWORDS, set_access_doc},
    {"get_access", AS_METHOD(range_get_access), FAST_KEYWORDS, get_access_doc},
    {"free", range_free, METH_NOARGS, free_doc},
    {"get_pointer", range_get_pointer, METH_NOARGS,
     "get_pointer($self)\n--\n\n"
     "The first address.\n"
     "\nReturns\n-------\n"
     "int\n"
     "\nRaises\n------\n"
     "LogicError\n    It was freed."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef range_members[] = {
    {"size", T_PYSSIZET, offsetof(AddressRangeObject, size), READONLY,
     "The bytes that are reserved, mapped or not."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef range_properties[] = {
    {"ptr", range_get_ptr, NULL, "The first address, an int.", NULL},
    {"mappings", range_get_mappings, NULL, "What is mapped: a list of (offset, size), by offset.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec AddressRange_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.AddressRange", AddressRangeObject, 0, range_doc),
    .tp_new = range_new,
    .tp_init = range_init,
    .tp_dealloc = range_dealloc,
    .tp_repr = range_repr,
    TYPE_TABLES(range_methods, range_properties, range_members),
};
