/* DLPack's binary interface: arrays passed between libraries as C structures, as its specification has them
 * (version 1.3). In Python they travel in capsules, which a consumer renames and then owns.
 */
#ifndef EXT_CONVERT_DLPACK_H
#define EXT_CONVERT_DLPACK_H

#include "ext/convert/foreign.h"

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 3 };

/* Names of capsules: of a tensor without and with a version, the same after a consumer has taken it, and of
 * an exchange table. */
#define DLPACK_PLAIN "dltensor"
#define DLPACK_PLAIN_USED "used_dltensor"
#define DLPACK_VERSIONED "dltensor_versioned"
#define DLPACK_VERSIONED_USED "used_dltensor_versioned"
#define DLPACK_EXCHANGE "dlpack_exchange_api"

/* Kinds of devices whose memory CUDA knows. */
enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_CUDA_HOST = 3, DLPACK_CUDA_MANAGED = 13 };

/* Kinds of numbers (DLPackDtype.code). */
enum {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_COMPLEX = 5,
    DLPACK_BOOL = 6,
    DLPACK_FLOAT8_E3M4 = 7,
    DLPACK_FLOAT8_E4M3 = 8,
    DLPACK_FLOAT8_E4M3B11FNUZ = 9,
    DLPACK_FLOAT8_E4M3FN = 10,
    DLPACK_FLOAT8_E4M3FNUZ = 11,
    DLPACK_FLOAT8_E5M2 = 12,
    DLPACK_FLOAT8_E5M2FNUZ = 13,
    DLPACK_FLOAT8_E8M0FNU = 14,
};

/* DLPackVersioned.flags */
enum { DLPACK_READ_ONLY = 1, DLPACK_IS_COPIED = 2 };

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

typedef struct DLPackDevice {
    int32_t kind, number;
} DLPackDevice;

typedef struct DLPackDtype {
    uint8_t code, bits;
    uint16_t lanes;
} DLPackDtype;

typedef struct DLPackTensor {
    void *data;
    DLPackDevice device;
    int32_t ndim;
    DLPackDtype dtype;
    int64_t *shape, *strides;   /* in elements; strides of packed arrays may be NULL before version 1.2 */
    uint64_t byte_offset;       /* of element 0 from data */
} DLPackTensor;

typedef struct DLPackPlain {
    DLPackTensor tensor;
    void *owner;
    void (*deleter)(struct DLPackPlain *self);
} DLPackPlain;

typedef struct DLPackVersioned {
    DLPackVersion version;
    void *owner;
    void (*deleter)(struct DLPackVersioned *self);
    uint64_t flags;
    DLPackTensor tensor;
} DLPackVersioned;

/* The table that a type shows as __dlpack_c_exchange_api__, in a capsule. Its functions return 0, or -1 with
 * an exception, and synchronize nothing: work of the library is on its current stream. */
typedef struct DLPackExchange {
    DLPackVersion version;
    struct DLPackExchange *previous;    /* for older consumers, or NULL */
    int (*allocate)(DLPackTensor *like, DLPackVersioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*export_managed)(void *object, DLPackVersioned **out);
    int (*import_managed)(DLPackVersioned *tensor, void **out_object);  /* takes the tensor */
    int (*export_borrowed)(void *object, DLPackTensor *out);            /* may be NULL */
    int (*current_stream)(int32_t device_kind, int32_t device_number, void **out);
} DLPackExchange;

/* ---- ext/convert/dlpack_dtype.c */

/* -1 with BufferError for dtypes that DLPack does not have. */
int dlpack_dtype_of(struct _PyArray_Descr *dtype, DLPackDtype *out);
/* A new reference; NULL with BufferError for what NumPy does not have. */
struct _PyArray_Descr *dlpack_dtype_read(DLPackDtype dtype);

/* ---- ext/convert/dlpack_read.c: arrays of other libraries */

/* As foreign_describe(), for types with an exchange table. retained: the layout's owner keeps the memory. Not
 * retained: the owner may be the object itself, which keeps the memory as long as it is not changed. */
int dlpack_describe_exchanged(ModuleState *state, PyObject *object, bool retained, ForeignArray *out,
                              ForeignLayout *layout);

/* As foreign_describe(), for objects with a method __dlpack__, which is called and orders the consumer's
 * stream after the owner's work. */
int dlpack_describe_exported(ModuleState *state, PyObject *object, CUstream consumer, ForeignArray *out,
                             ForeignLayout *layout);

/* Takes the tensor out of a capsule. The layout's owner deletes it at its end. -1 with an exception: if the
 * capsule was refused it still has the tensor; if the tensor was refused it is deleted. */
int dlpack_take(ModuleState *state, PyObject *capsule, ForeignArray *out, ForeignLayout *layout);

/* As dlpack_take(), for a tensor that came without a capsule; it is not deleted on failure. */
int dlpack_read_versioned(ModuleState *state, DLPackVersioned *managed, ForeignArray *out,
                          ForeignLayout *layout);

/* Whether the object has an exchange table or a method __dlpack__. No exception is set. */
bool dlpack_is_array(ModuleState *state, PyObject *object);

#endif
