/* Texture and surface references: variables of a module that hold the handle of a texture or surface object.
 *
 * pycuda-textures.hpp declares the variable; its initial value says what it was declared as. A binding is made
 * in steps (set_array, set_flags, ...), so the object is made by the first launch that finds it changed, and
 * its handle is written into the variable in front of that launch, in its stream.
 *
 * A binding belongs to the module: it outlives the Python object through which it was made. What the variable
 * refers to stays alive until another handle is written and the work before that is done.
 */
#ifndef EXT_REFERENCE_H
#define EXT_REFERENCE_H

#include "ext/function.h"

/* The variable, as the header lays it out. */
typedef struct ReferenceDeclaration {
    uint64_t handle;
    uint32_t mark;
    uint8_t kind;               /* ReferenceShape */
    uint8_t normalized_reads;   /* cudaReadModeNormalizedFloat */
    uint8_t format, channels;   /* of T; format is a CUarray_format */
    uint8_t normalized, filter, address;    /* the settings that it begins with */
    uint8_t unused;
} ReferenceDeclaration;

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

typedef struct Reference {
    struct Reference *next;         /* in CodeModuleObject.references */
    char *name;                     /* owned */
    bool surface;
    CUdeviceptr where;              /* the variable; 0 of a reference that belongs to no module */
    ReferenceDeclaration declared;
    PyObject *source;               /* owned: what it is bound to, as it was given; NULL: nothing */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUarray_format format;          /* of linear memory */
    unsigned channels;
    bool changed;                   /* since `object` was made */
    PyObject *object;               /* owned: the TextureObject or SurfaceObject of the binding */
    PyObject *written;              /* owned: the one whose handle the variable has */
    CUstream stream;                /* where that was written */
    bool pending;                   /* the write may be under way: only that stream is behind it */
    bool busy, elsewhere;           /* launches that use it may be under way there, in other streams */
} Reference;

/* TextureReference and SurfaceReference. */
typedef struct ReferenceObject {
    PyObject_HEAD
    ModuleState *state;
    CodeModuleObject *module;       /* owned; NULL: the reference belongs to this object alone */
    Reference *reference;
    PyObject *weak_references;
} ReferenceObject;

static inline ReferenceObject *reference_cast(PyObject *object) { return (ReferenceObject *)object; }

/* The reference of this name, looked up in the module's variables the first time. NULL with LogicError. */
Reference *reference_find(CodeModuleObject *module, const char *name, bool surface);

Reference *reference_new(const char *name, bool surface);
void reference_free(Reference *reference);
int reference_visit(Reference *reference, visitproc visit, void *arg);

/* All of a module's; after it was unloaded. */
void references_free(Reference *first);

/* Binding. Each checks what it can before anything changes: -1 with TypeError, ValueError or LogicError. */
int reference_set_array(ReferenceObject *self, PyObject *array);
int reference_set_linear(ReferenceObject *self, PyObject *memory, size_t bytes, bool allow_offset,
                         size_t *offset);
int reference_set_pitched(ReferenceObject *self, PyObject *memory, PyObject *descriptor, size_t pitch);

/* Whether what it was bound to is gone. */
bool reference_is_stale(ModuleState *state, const Reference *reference);

/* reference_launch.c: brings the variables of a module up to date for a launch in this stream. -1 with an
 * exception. */
int references_write(CodeModuleObject *module, CUstream stream);

/* pooled_note_objects for the memory that the module's references are bound to. */
int references_note(CodeModuleObject *module, PyObject *stream, CUstream handle);

/* texrefs=: -1 with TypeError or LogicError when something in it is no texture reference of the function's
 * module, or, for a launch, is bound to nothing. NULL and None are empty. */
int references_check(FunctionObject *function, PyObject *texrefs, bool for_launch);

/* texture_reference.c, surface_reference.c: what Module.get_texref and get_surfref return. */
PyObject *texture_reference_new(CodeModuleObject *module, const char *name);
PyObject *surface_reference_new(CodeModuleObject *module, const char *name);
PyObject *reference_wrap(ModuleState *state, PyTypeObject *type, CodeModuleObject *module,
                         Reference *reference);
PyObject *reference_get_array(PyObject *self, PyObject *none);
int reference_traverse(PyObject *self, visitproc visit, void *arg);
void reference_dealloc(PyObject *self);

int texture_reference_setup(PyObject *module, ModuleState *state);
int surface_reference_setup(PyObject *module, ModuleState *state);

#endif
