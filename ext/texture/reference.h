/* Texture and surface references: variables of a module that hold the handle of a texture or surface object.
 *
 * pycuda-textures.hpp declares the variable; its initial value says what it was declared as. A binding is
 * made in steps (set_array, set_flags, ...), so the object is made by the first launch that finds it changed,
 * and its handle is written into the variable before that launch, in its stream.
 *
 * A binding belongs to the module: it outlives the Python object through which it was made. What the variable
 * refers to stays alive until another handle is written and the work before that is done.
 *
 * Threads may bind and launch at the same time. A binding is a value that is replaced as a whole, and a
 * thread that reads it holds it. All launches of a module use the same variables. So a launch takes the
 * module's lock (References) before it looks at them, and releases it when it is queued: it reads the handles
 * that it has written or found. */
#ifndef EXT_TEXTURE_REFERENCE_H
#define EXT_TEXTURE_REFERENCE_H

#include "core/spin_lock.h"
#include "ext/context/module_object.h"

/* The variable, as pycuda-textures.hpp declares it. */
typedef struct ReferenceDeclaration {
    uint64_t handle;            /* of the texture or surface object, written by launches */
    uint32_t mark;              /* identifies such a variable: one of the constants below */
    uint8_t kind;               /* ReferenceShape */
    uint8_t normalized_reads;   /* cudaReadModeNormalizedFloat */
    uint8_t format, channels;   /* of texture<T, ...>'s T; format is a CUarray_format */
    uint8_t normalized, filter, address;    /* initial settings: normalized coordinates, the two modes */
    uint8_t unused;
} ReferenceDeclaration;

/* As in pycuda-textures.hpp: the bytes "PTEX" and "PSRF". */
enum { REFERENCE_TEXTURE_MARK = 0x58455450, REFERENCE_SURFACE_MARK = 0x46525350 };

/* cudaTextureType1D and so on. */
typedef enum ReferenceShape {
    REFERENCE_1D = 0x01,
    REFERENCE_2D = 0x02,
    REFERENCE_3D = 0x03,
    REFERENCE_CUBE = 0x0c,
    REFERENCE_1D_LAYERED = 0xf1,
    REFERENCE_2D_LAYERED = 0xf2,
    REFERENCE_CUBE_LAYERED = 0xfc
} ReferenceShape;

/* The object to which a reference is bound, and the settings by which it is read. Several threads may hold a
 * binding: it is not changed, but replaced by a new one (binding_copy, binding_put). */
typedef struct Binding {
    atomic_long holders; /* by gil_count */
    PyObject *source; /* owned: the bound object, as it was given; NULL: none is bound */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUarray_format format; /* of linear memory */
    unsigned channels;
    PyObject *object; /* owned: the TextureObject or SurfaceObject, made by the first launch; NULL before */
} Binding;

typedef struct Reference {
    struct Reference *next; /* in References; never taken out while the module lives */
    char *name; /* owned */
    bool surface;
    CUdeviceptr where; /* the variable; 0 of a reference that belongs to no module */
    ReferenceDeclaration declared;
    SpinLock changing; /* guards the pointer `binding` */
    Binding *binding; /* held */
    /* Guarded by the module's lock: */
    PyObject *written; /* owned: the object whose handle the variable has */
    CUstream stream; /* in which the handle was written */
    bool pending; /* the write may be under way: only work of `stream` comes after it */
    bool busy; /* launches that use the variable may be under way in `stream` */
    bool busy_elsewhere; /* launches that use the variable may be under way in other streams */
} Reference;

/* The references of a module that were requested, and the lock of their variables. The thread that has the
 * lock may take it again, as Python code may run while it has it. No thread waits for the lock with the GIL,
 * so the lock can be kept in driver calls. */
typedef struct References {
    Reference *first; /* owned */
    struct Replaced *replaced; /* owned: objects whose handles were overwritten, for references_end */
    Py_ssize_t replaced_count;
    PyThread_type_lock lock;
    unsigned long owner; /* the thread that has it, while depth > 0 */
    int depth;
    unsigned long turns; /* how often it was taken */
} References;

/* TextureReference and SurfaceReference. */
typedef struct ReferenceObject {
    PyObject_HEAD
    ModuleState *state;
    CodeModuleObject *module; /* owned; NULL: the reference belongs to this object alone */
    Reference *reference;
    PyObject *weak_references;
} ReferenceObject;

static inline ReferenceObject *reference_cast(PyObject *object) { return (ReferenceObject *)object; }

/* The reference of this name, looked up in the module's variables the first time. NULL with LogicError. */
Reference *reference_find(CodeModuleObject *module, const char *name, bool surface);

/* A reference that is in no list and bound to nothing. NULL with MemoryError. */
Reference *reference_new(const char *name, bool surface);
void reference_free(Reference *reference);
int reference_visit(Reference *reference, visitproc visit, void *arg);

/* Frees all references of a module after it was unloaded. NULL is allowed. */
void references_free(References *references);

/* The reference's binding, held until binding_drop(). */
Binding *binding_hold(Reference *reference);
void binding_drop(Binding *binding);

/* A copy of the reference's binding, without its object, to be changed and given to binding_put(): other
 * threads see it then, with all its changes. NULL with MemoryError. */
Binding *binding_copy(Reference *reference);

/* Makes `binding` the reference's binding if that is still `expected` (NULL: in any case). Takes over the
 * caller's hold on `binding`: drops the previous binding, or, if it was another one, the new one. */
void binding_put(Reference *reference, Binding *binding, const Binding *expected);

/* Bind a reference. -1 with TypeError, ValueError or LogicError: then nothing has changed. */
int reference_set_array(ReferenceObject *self, PyObject *array);
int reference_set_mipmapped_array(ReferenceObject *self, PyObject *array);
int reference_set_linear(ReferenceObject *self, PyObject *memory, size_t bytes, bool allow_offset,
                         size_t *offset);
int reference_set_pitched(ReferenceObject *self, PyObject *memory, PyObject *descriptor, size_t pitch);

/* Whether the bound object's memory was freed. */
bool binding_is_stale(ModuleState *state, const Binding *binding);

/* reference_launch.c. Called before a launch in this stream: takes the lock of the module's references and
 * writes the variables whose bindings have changed. They do not change until references_end(), which releases
 * the lock. -1 with an exception: then the lock is not taken. */
int references_begin(CodeModuleObject *module, CUstream stream);
void references_end(CodeModuleObject *module);

/* pooled_note_objects for the memory that the module's references are bound to. */
int references_note(CodeModuleObject *module, PyObject *stream, CUstream handle);

/* texture_reference.c, surface_reference.c: what Module.get_texref and get_surfref return. */
PyObject *texture_reference_new(CodeModuleObject *module, const char *name);
PyObject *surface_reference_new(CodeModuleObject *module, const char *name);
PyObject *reference_wrap(ModuleState *state, PyTypeObject *type, CodeModuleObject *module,
                         Reference *reference);
PyObject *reference_get_array(PyObject *self, PyObject *none);
int reference_traverse(PyObject *self, visitproc visit, void *arg);
void reference_dealloc(PyObject *self);

#endif
