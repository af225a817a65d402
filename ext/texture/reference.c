/* References: found among a module's variables, bound to arrays and memory. */
#include "ext/texture/reference.h"

#include <math.h>
#include <string.h>

#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_pointer.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/texture/cuda_array.h"
#include "ext/texture/mipmapped_array.h"
#include "ext/texture/texture.h"

_Static_assert(sizeof(ReferenceDeclaration) == 24, "as in pycuda-textures.hpp");

Reference *reference_new(const char *name, bool surface)
{
    size_t size = strlen(name) + 1;
    Reference *reference = PyMem_Calloc(1, sizeof *reference);
    char *copy = reference ? PyMem_Malloc(size) : NULL;
    Binding *binding = copy ? PyMem_Calloc(1, sizeof *binding) : NULL;
    if (!binding) {
        PyMem_Free(copy);
        PyMem_Free(reference);
        PyErr_NoMemory();
        return NULL;
    }
    reference->name = memcpy(copy, name, size);
    reference->surface = surface;
    reference->binding = binding;
    *binding = (Binding){.holders = 1, .format = CU_AD_FORMAT_FLOAT, .channels = 1};
    for (int axis = 0; axis < 3; axis++) binding->sampling.addressMode[axis] = CU_TR_ADDRESS_MODE_CLAMP;
    binding->sampling.maxMipmapLevelClamp = INFINITY;
    return reference;
}

Binding *binding_hold(Reference *reference)
{
    spin_lock(&reference->changing);
    Binding *binding = reference->binding;
    gil_count(&binding->holders, 1);
    spin_unlock(&reference->changing);
    return binding;
}

void binding_drop(Binding *binding)
{
    if (gil_count(&binding->holders, -1) > 0) return;
    Py_XDECREF(binding->object);
    Py_XDECREF(binding->source);
    PyMem_Free(binding);
}

Binding *binding_copy(Reference *reference)
{
    Binding *binding = PyMem_Malloc(sizeof *binding);
    if (!binding) return (Binding *)PyErr_NoMemory();
    Binding *now = binding_hold(reference);
    *binding = *now;
    binding->holders = 1;
    binding->object = NULL;
    Py_XINCREF(binding->source);
    binding_drop(now);
    return binding;
}

void binding_put(Reference *reference, Binding *binding, const Binding *expected)
{
    spin_lock(&reference->changing);
    Binding *previous = reference->binding;
    bool is_expected = !expected || previous == expected;
    if (is_expected) reference->binding = binding;
    spin_unlock(&reference->changing);
    binding_drop(is_expected ? previous : binding);
}

void reference_free(Reference *reference)
{
    binding_drop(reference->binding);
    Py_XDECREF(reference->written);
    PyMem_Free(reference->name);
    PyMem_Free(reference);
}

void references_free(References *references)
{
    if (!references) return;
    for (Reference *first = references->first, *next; first; first = next) {
        next = first->next;
        reference_free(first);
    }
    PyThread_free_lock(references->lock);
    PyMem_Free(references);
}

/* Visits the current binding only. A previous binding that a thread still holds is not visited: the garbage
 * collector then counts its references as external, and its objects stay alive. */
int reference_visit(Reference *reference, visitproc visit, void *arg)
{
    Py_VISIT(reference->binding->object);
    Py_VISIT(reference->written);
    Py_VISIT(reference->binding->source);
    return 0;
}

/* ---- Looking one up ---- */

static const char *kind_name(bool surface) { return surface ? "surface" : "texture"; }

/* Whether the driver knows the reference, as it does for code compiled before CUDA 12. */
static bool is_of_the_driver(CodeModuleObject *module, const char *name, bool surface)
{
    CUtexref texture;
    CUsurfref surface_handle;
    CUresult result = surface ? once_cuModuleGetSurfRef(module->state, &surface_handle, module->handle, name)
                              : once_cuModuleGetTexRef(module->state, &texture, module->handle, name);
    return result == CUDA_SUCCESS;
}

static int raise_absent(CodeModuleObject *module, const char *name, bool surface, CUresult result)
{
    const char *routine = surface ? "cuModuleGetSurfRef" : "cuModuleGetTexRef";
    if (result == CUDA_ERROR_NOT_FOUND && is_of_the_driver(module, name, surface))
        raise_driver(module->state, CUDA_ERROR_NOT_SUPPORTED, routine,
                     "%s reference '%s' was compiled by a toolkit before CUDA 12: compile its source with "
                     "SourceModule",
                     kind_name(surface), name);
    else
        raise_driver(module->state, result, routine, "%s reference '%s'", kind_name(surface), name);
    return -1;
}

/* Sets reference->where and ->declared, from the variable's initial value. -1 with LogicError when the module
 * has no such variable, or it is no such reference. */
static int read_declaration(CodeModuleObject *module, Reference *reference)
{
    ModuleState *state = module->state;
    ContextScope scope;
    size_t size = 0;
    ReferenceDeclaration *declared = &reference->declared;
    if (host_function_refuses(state, "cuModuleGetGlobal")) return -1;
    if (!context_enter_scope(module->context, &scope)) {
        if (context_check(module->context, "the module")) raise_logic(state, "CUDA can no longer be used");
        return -1;
    }
    CUresult result = try_cuModuleGetGlobal(state, &reference->where, &size, module->handle, reference->name);
    bool found = result == CUDA_SUCCESS;
    if (found && size >= sizeof *declared)
        result = try_cuMemcpyDtoH(state, declared, reference->where, sizeof *declared);
    context_leave_scope(&scope);
    if (!found) return raise_absent(module, reference->name, reference->surface, result);
    if (raise_unless(state, result, "cuMemcpyDtoH") < 0) return -1;
    if (declared->mark == (reference->surface ? REFERENCE_SURFACE_MARK : REFERENCE_TEXTURE_MARK)) return 0;
    raise_logic(state, "variable '%s' is not a %s reference", reference->name, kind_name(reference->surface));
    return -1;
}

/* Sets the settings of a texture's binding to those of its declaration. */
static void use_declaration(Reference *reference)
{
    const ReferenceDeclaration *declared = &reference->declared;
    Binding *binding = reference->binding;
    if (reference->surface) return;
    binding->format = declared->format;
    binding->channels = declared->channels;
    binding->sampling.filterMode = declared->filter;
    binding->sampling.flags = declared->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0;
    if (!declared->normalized_reads && declared->format < CU_AD_FORMAT_HALF)
        binding->sampling.flags |= CU_TRSF_READ_AS_INTEGER;
    for (int axis = 0; axis < 3; axis++) binding->sampling.addressMode[axis] = declared->address;
}

static Reference *find_known(const CodeModuleObject *module, const char *name, bool surface)
{
    Reference *known = module->references ? module->references->first : NULL;
    while (known && (known->surface != surface || strcmp(known->name, name) != 0)) known = known->next;
    return known;
}

/* Makes module->references. -1 with MemoryError. */
static int begin_list(CodeModuleObject *module)
{
    if (module->references) return 0;
    References *references = PyMem_Calloc(1, sizeof *references);
    if (!references || !(references->lock = PyThread_allocate_lock())) {
        PyMem_Free(references);
        PyErr_NoMemory();
        return -1;
    }
    module->references = references;
    return 0;
}

/* Two threads may look up the same name at once: the one that is done first adds it to the list, and the
 * other uses that. */
Reference *reference_find(CodeModuleObject *module, const char *name, bool surface)
{
    Reference *known = find_known(module, name, surface);
    Reference *reference = known ? NULL : reference_new(name, surface);
    if (known || !reference) return known;
    bool found = read_declaration(module, reference) == 0;
    known = found ? find_known(module, name, surface) : NULL;
    if (!found || known || begin_list(module) < 0) {
        reference_free(reference);
        return known;
    }
    use_declaration(reference);
    reference->next = module->references->first;
    module->references->first = reference;
    return reference;
}

/* ---- Checks ---- */

static const char *shape_name(unsigned shape)
{
    switch (shape) {
    case REFERENCE_1D: return "1D";
    case REFERENCE_2D: return "2D";
    case REFERENCE_3D: return "3D";
    case REFERENCE_CUBE: return "a cubemap";
    case REFERENCE_1D_LAYERED: return "1D layered";
    case REFERENCE_2D_LAYERED: return "2D layered";
    case REFERENCE_CUBE_LAYERED: return "a layered cubemap";
    default: return "unknown";
    }
}

/* The shape of references to which such an array can be bound. */
static unsigned reference_shape_of(const CUDA_ARRAY3D_DESCRIPTOR *array)
{
    bool layered = array->Flags & CUDA_ARRAY3D_LAYERED;
    if (array->Flags & CUDA_ARRAY3D_CUBEMAP) return layered ? REFERENCE_CUBE_LAYERED : REFERENCE_CUBE;
    if (layered) return array->Height ? REFERENCE_2D_LAYERED : REFERENCE_1D_LAYERED;
    if (array->Depth) return REFERENCE_3D;
    return array->Height ? REFERENCE_2D : REFERENCE_1D;
}

/* -1 with LogicError when memory of this shape is not what the reference was declared for. A reference that
 * belongs to no module has no declaration: all shapes fit. what: a noun for the memory, for the message. */
static int check_declared_shape(ReferenceObject *self, unsigned shape, const char *routine, const char *what)
{
    const Reference *reference = self->reference;
    unsigned declared = reference->declared.kind;
    /* A layered surface takes the faces of a cubemap as layers. */
    bool has_faces = reference->surface && declared == REFERENCE_2D_LAYERED
                     && (shape == REFERENCE_CUBE || shape == REFERENCE_CUBE_LAYERED);
    if (!reference->where || declared == shape || has_faces) return 0;
    raise_driver(self->state, CUDA_ERROR_INVALID_VALUE, routine, "%s '%s' was declared as %s, the %s is %s%s",
                 kind_name(reference->surface), reference->name, shape_name(declared), what,
                 shape_name(shape),
                 declared == REFERENCE_1D && shape == REFERENCE_2D ? " (a 1D Array has height 0)" : "");
    return -1;
}

/* -1 with LogicError when memory of this context (NULL: unknown) cannot be used by the reference's module. */
static int check_context(ReferenceObject *self, const ContextObject *context, const char *routine)
{
    if (!self->module || !context || contexts_share_memory(context, self->module->context)) return 0;
    raise_driver(self->state, CUDA_ERROR_INVALID_VALUE, routine,
                 "%s '%s' belongs to a module of a different context than the memory",
                 kind_name(self->reference->surface), self->reference->name);
    return -1;
}

bool binding_is_stale(ModuleState *state, const Binding *binding)
{
    PyObject *source = binding->source;
    if (PyObject_TypeCheck(source, state->Array_type)) return cuda_array_is_over(cuda_array_cast(source));
    if (mipmapped_array_check(state, source)) return atomic_load(&mipmapped_array_cast(source)->freed);
    DeviceAllocationObject *owner = allocation_under(state, source);
    return owner && atomic_load(&owner->freed);
}

/* ---- Binding ---- */

/* Binds the reference to the resource, which `source` keeps alive. shape: has the format; NULL for linear
 * memory, whose format is the reference's. -1 with MemoryError. */
static int bind_resource(Reference *reference, PyObject *source, const CUDA_RESOURCE_DESC *resource,
                         const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    Binding *binding = binding_copy(reference);
    if (!binding) return -1;
    Py_XSETREF(binding->source, Py_NewRef(source));
    binding->resource = *resource;
    if (shape) {
        binding->format = shape->Format;
        binding->channels = shape->NumChannels;
    }
    binding_put(reference, binding, NULL);
    return 0;
}

int reference_set_array(ReferenceObject *self, PyObject *array)
{
    const char *routine = self->reference->surface ? "cuSurfRefSetArray" : "cuTexRefSetArray";
    ModuleState *state = self->state;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (cuda_array_handle(state, array, "array", &resource.res.array.hArray) < 0
        || check_context(self, cuda_array_cast(array)->context, routine) < 0
        || cuda_array_describe(state, resource.res.array.hArray, &shape) < 0
        || check_declared_shape(self, reference_shape_of(&shape), routine, "Array") < 0)
        return -1;
    if (self->reference->surface && !(shape.Flags & CUDA_ARRAY3D_SURFACE_LDST)) {
        raise_driver(state, CUDA_ERROR_INVALID_VALUE, routine,
                     "the Array was not made with array3d_flags.SURFACE_LDST");
        return -1;
    }
    return bind_resource(self->reference, array, &resource, &shape);
}

int reference_set_mipmapped_array(ReferenceObject *self, PyObject *array)
{
    static const char routine[] = "cuTexRefSetMipmappedArray";
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    if (mipmapped_array_handle(self->state, array, "mipmapped_array", &resource.res.mipmap.hMipmappedArray)
            < 0
        || check_context(self, mipmapped_array_cast(array)->context, routine) < 0)
        return -1;
    CUDA_ARRAY3D_DESCRIPTOR shape = mipmapped_array_cast(array)->shape;
    if (check_declared_shape(self, reference_shape_of(&shape), routine, "MipmappedArray") < 0) return -1;
    return bind_resource(self->reference, array, &resource, &shape);
}

/* *out: an attribute, at least 1, of the device of the reference's module, or of the current one. -1 with an
 * exception. */
static int device_limit(ReferenceObject *self, CUdevice_attribute attribute, size_t *out)
{
    ContextObject *context =
        self->module ? context_hold(self->module->context) : context_hold_current(self->state);
    int value = 1;
    if (!context) return -1;
    int failed = gpu_cuDeviceGetAttribute(self->state, &value, attribute, context->device);
    context_drop(context);
    *out = value > 0 ? (size_t)value : 1;
    return failed;
}

/* *out: the address of the memory. -1 with an exception when its allocation is known to have fewer than
 * `bytes` bytes from there on, or its context does not fit. */
static int read_memory(ReferenceObject *self, PyObject *memory, size_t bytes, const char *routine,
                       CUdeviceptr *out)
{
    ModuleState *state = self->state;
    DeviceAllocationObject *owner = allocation_under(state, memory);
    CUdeviceptr base = 0;
    size_t size = 0;
    if (convert_range(state, memory, "devptr", bytes, out) < 0
        || check_context(self, owner && !owner->managed ? owner->context : NULL, routine) < 0)
        return -1;
    CUresult result = try_cuMemGetAddressRange(state, &base, &size, *out);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_FOUND) {
        raise_driver(state, result, "cuMemGetAddressRange", NULL);
        return -1;
    }
    if (result != CUDA_SUCCESS || bytes <= size - (*out - base)) return 0;
    PyErr_Format(PyExc_ValueError, "devptr: %zu bytes are requested, but the allocation ends after %zu",
                 bytes, size - (size_t)(*out - base));
    return -1;
}

/* -1 with LogicError when a texture cannot read `bytes` bytes of linear memory that begin `offset` bytes
 * after an aligned address. */
static int check_linear(ReferenceObject *self, size_t bytes, size_t offset, bool allow_offset)
{
    static const char routine[] = "cuTexRefSetAddress";
    size_t element = 0, max;
    if (device_limit(self, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, &max) < 0) return -1;
    element = cuda_array_element_size(self->reference->binding->format, self->reference->binding->channels);
    if (!bytes || (offset + bytes) / element > max)
        raise_driver(self->state, CUDA_ERROR_INVALID_VALUE, routine,
                     "linear memory of a texture has 1 to %zu elements, not %zu (%zu bytes)", max,
                     bytes / element, bytes);
    else if (offset && !allow_offset)
        raise_driver(self->state, CUDA_ERROR_INVALID_VALUE, routine,
                     "the address is %zu bytes past a multiple of TEXTURE_ALIGNMENT: pass allow_offset=True "
                     "and add the returned offset in the kernel",
                     offset);
    else
        return 0;
    return -1;
}

int reference_set_linear(ReferenceObject *self, PyObject *memory, size_t bytes, bool allow_offset,
                         size_t *offset)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUdeviceptr address;
    size_t alignment;
    if (check_declared_shape(self, REFERENCE_1D, "cuTexRefSetAddress", "memory") < 0
        || read_memory(self, memory, bytes, "cuTexRefSetAddress", &address) < 0
        || device_limit(self, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &alignment) < 0)
        return -1;
    *offset = (size_t)(address % alignment);
    if (check_linear(self, bytes, *offset, allow_offset) < 0) return -1;
    resource.res.linear.devPtr = address - *offset;
    resource.res.linear.sizeInBytes = bytes + *offset;
    return bind_resource(self->reference, memory, &resource, NULL);
}

int reference_set_pitched(ReferenceObject *self, PyObject *memory, PyObject *descriptor, size_t pitch)
{
    static const char routine[] = "cuTexRefSetAddress2D";
    ModuleState *state = self->state;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    CUdeviceptr address;
    size_t alignment, step;
    if (!convert_check_type(descriptor, state->ArrayDescriptor_type, "descr")) return -1;
    CUDA_ARRAY3D_DESCRIPTOR shape = cuda_array_descriptor_cast(descriptor)->value;
    if (shape.Height == 0) shape.Height = 1;
    if (check_declared_shape(self, REFERENCE_2D, routine, "memory") < 0
        || texture_read_memory(state, memory, &shape, pitch, &resource) < 0
        || read_memory(self, memory, pitch * (shape.Height - 1) + 1, routine, &address) < 0
        || device_limit(self, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, &alignment) < 0
        || device_limit(self, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, &step) < 0)
        return -1;
    if (address % alignment || pitch % step) {
        raise_driver(state, CUDA_ERROR_INVALID_VALUE, routine,
                     "the address must be a multiple of %zu (TEXTURE_ALIGNMENT), the pitch, %zu, of %zu "
                     "(TEXTURE_PITCH_ALIGNMENT)",
                     alignment, pitch, step);
        return -1;
    }
    return bind_resource(self->reference, memory, &resource, &shape);
}
