/* Operations of NCCL on GPUArrays, by the functions of nccl4py's bindings.
 *
 * pycuda._array.interop.collectives has all rules and the message of each error. This is its fast path: it
 * makes the call if the arrays are GPUArrays that break no rule, as almost all are, and leaves any other call
 * to Python. So it finds what is wrong, and never says it.
 */
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/array_device.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

/* Positions of the arguments; what comes after them is passed on: an operation (ncclRedOp_t), a rank. */
enum { SENT, RECEIVED, STREAM, USES, FIRST_EXTRA, EXTRA_MAX = 2 };
enum { VALUES_MAX = 6 + EXTRA_MAX }; /* of a function of the bindings */

/* A reduction as NCCL knows it. All three are NULL before the first one. */
typedef struct Reduction {
    PyObject *dtype, *op; /* owned: what it was asked for with */
    PyObject *unit; /* owned, a tuple: numbers that an element has, ncclDataType_t, ncclRedOp_t */
} Reduction;

typedef struct FastCollectiveObject {
    PyObject_HEAD
    vectorcallfunc call;
    ModuleState *state;
    PyObject *checks; /* owned: the Collective of Python */
    PyObject *comm, *handle; /* owned: nccl4py's communicator, and what stands for it in the bindings */
    PyObject *function; /* owned: the bindings' */
    PyObject *moved_as; /* owned: ncclDataType_t of what is only moved, as bytes */
    PyObject *reduce; /* owned: called for the unit of a reduction (dtype, op) */
    Reduction last; /* the one that was asked for last */
    unsigned long long pointer; /* ncclComm_t */
    int device, rank, ranks;
    bool sends, receives, has_two_addresses, sent_in_parts, received_in_parts, is_exact, reduces;
} FastCollectiveObject;

static FastCollectiveObject *collective_cast(PyObject *object) { return (FastCollectiveObject *)object; }

/* The arrays of a call. */
typedef struct Arrays {
    GPUArrayObject *sent, *received; /* NULL: the operation has none */
    GPUArrayObject *first, *second; /* in the order of the function's addresses; of one array both are it */
    Py_ssize_t part; /* the elements that NCCL counts */
} Arrays;

/* ---- Rules ---- */

/* The argument as a contiguous array with memory of the communicator's device; NULL if it is none. */
static GPUArrayObject *plain_array(const FastCollectiveObject *self, PyObject *argument)
{
    if (!gpuarray_check(self->state, argument)) return NULL;
    GPUArrayObject *array = gpuarray_cast(argument);
    const DeviceAllocationObject *allocation = array->allocation;
    if (!array->layout) return NULL;
    if (allocation && (atomic_load(&allocation->freed) || atomic_load(&allocation->context->dead)))
        return NULL;
    return !array->size || array_device_number(array, self->device) == self->device ? array : NULL;
}

static bool read_arrays(const FastCollectiveObject *self, PyObject *const *args, Arrays *out)
{
    GPUArrayObject *sent = self->sends ? plain_array(self, args[SENT]) : NULL;
    GPUArrayObject *received = self->receives ? plain_array(self, args[RECEIVED]) : NULL;
    *out = (Arrays){sent, received, sent ? sent : received, received ? received : sent, 0};
    return out->first && !sent == !self->sends && !received == !self->receives
           && !(received && received->read_only);
}

/* Sets arrays->part. Whether the arrays can be divided, and what is sent fits into what is received. */
static bool find_part(const FastCollectiveObject *self, Arrays *arrays)
{
    int parts = (arrays->sent ? self->sent_in_parts : self->received_in_parts) ? self->ranks : 1;
    arrays->part = arrays->first->size / parts;
    if (arrays->first->size % parts) return false;
    if (!arrays->sent || !arrays->received) return true;
    Py_ssize_t needed = arrays->part * (self->received_in_parts ? self->ranks : 1);
    Py_ssize_t size = arrays->received->size;
    return arrays->sent->dtype == arrays->received->dtype
           && (self->is_exact ? size == needed : size >= needed);
}

/* The address of element 0; 0 without elements, whose views keep an address. */
static CUdeviceptr address_of(const GPUArrayObject *array) { return array->size ? array->pointer : 0; }

/* Whether the arrays have no byte in common, or are those of NCCL's in-place operation. */
static bool may_share(const FastCollectiveObject *self, const Arrays *arrays)
{
    if (!arrays->sent || !arrays->received) return true;
    bool is_received_small = self->sent_in_parts && !self->received_in_parts;
    const GPUArrayObject *small = is_received_small ? arrays->received : arrays->sent;
    const GPUArrayObject *large = is_received_small ? arrays->sent : arrays->received;
    int64_t offset = (int64_t)(address_of(small) - address_of(large));
    if (offset >= large->nbytes || -offset >= small->nbytes) return true;
    if (self->sent_in_parts && self->received_in_parts) return false;
    bool is_part = self->sent_in_parts || self->received_in_parts;
    return offset == (is_part ? self->rank * arrays->part * large->itemsize : 0);
}

/* Whether the communicator lives, and the current context is of its device: 1 or 0; -1 with an exception. */
static int is_ready(const FastCollectiveObject *self)
{
    PyObject *pointer = PyObject_GetAttr(self->comm, self->state->str_ptr);
    bool lives = pointer && PyLong_AsUnsignedLongLong(pointer) == self->pointer;
    Py_XDECREF(pointer);
    if (PyErr_Occurred()) return -1;
    ContextObject *context = lives ? context_current(self->state) : NULL;
    if (!context) return lives ? -1 : 0;
    bool is_here = context->device == self->device;
    Py_DECREF((PyObject *)context);
    return is_here;
}

/* The unit of a reduction, a new reference. NULL with TypeError when NCCL does not have it. */
static PyObject *unit_of(FastCollectiveObject *self, PyObject *dtype, PyObject *op)
{
    Reduction *last = &self->last;
    if (last->dtype == dtype && last->op == op) return Py_NewRef(last->unit);
    PyObject *unit = PyObject_CallFunctionObjArgs(self->reduce, dtype, op, NULL);
    if (!unit || !PyLong_Check(op)) return unit; /* what another object stands for may change */
    Reduction old = *last;
    *last = (Reduction){Py_NewRef(dtype), Py_NewRef(op), Py_NewRef(unit)};
    Py_XDECREF(old.dtype);
    Py_XDECREF(old.op);
    Py_XDECREF(old.unit);
    return unit;
}

/* ---- The call ---- */

/* Notes the use of the arrays in the order of the stream, and keeps them in the list if there is one: until
 * the group ends. -1 with an exception. */
static int use_arrays(const FastCollectiveObject *self, const Arrays *arrays, PyObject *const *args,
                      CUstream *handle)
{
    PyObject *stream = stream_or_current(self->state, args[STREAM]);
    PyObject *const objects[] = {(PyObject *)arrays->sent, (PyObject *)arrays->received};
    if (convert_stream(self->state, stream, handle) < 0
        || pooled_note(self->state, objects, 2, stream, *handle) < 0)
        return -1;
    for (int i = 0; i < 2 && PyList_Check(args[USES]); i++)
        if (objects[i] && PyList_Append(args[USES], objects[i]) < 0) return -1;
    return 0;
}

/* Calls the bindings' function. unit: NULL for what is only moved. NULL with its exception. */
static PyObject *call_bindings(const FastCollectiveObject *self, const Arrays *arrays, PyObject *unit,
                               PyObject *const *extra, Py_ssize_t extra_count, CUstream stream)
{
    Py_ssize_t factor = unit ? PyLong_AsSsize_t(PyTuple_GET_ITEM(unit, 0)) : arrays->first->itemsize;
    PyObject *own[] = {PyLong_FromUnsignedLongLong(address_of(arrays->first)),
                       PyLong_FromUnsignedLongLong(address_of(arrays->second)),
                       PyLong_FromSsize_t(arrays->part * factor),
                       PyLong_FromUnsignedLongLong((uintptr_t)stream)};
    PyObject *values[VALUES_MAX], *result = NULL;
    size_t count = 0;
    values[count++] = own[0];
    if (self->has_two_addresses) values[count++] = own[1];
    values[count++] = own[2];
    values[count++] = unit ? PyTuple_GET_ITEM(unit, 1) : self->moved_as;
    for (Py_ssize_t i = 0; i < extra_count; i++)
        values[count++] = unit && i == 0 ? PyTuple_GET_ITEM(unit, 2) : extra[i];
    values[count++] = self->handle;
    values[count++] = own[3];
    if (own[0] && own[1] && own[2] && own[3])
        result = PyObject_Vectorcall(self->function, values, count, NULL);
    for (int i = 0; i < 4; i++) Py_XDECREF(own[i]);
    return result;
}

/* 1 when the operation was queued, 0 when Python has to look at it, -1 with an exception. */
static int queue(FastCollectiveObject *self, PyObject *const *args, Py_ssize_t extra_count)
{
    Arrays arrays;
    CUstream stream;
    PyObject *unit = NULL;
    if (!read_arrays(self, args, &arrays) || !find_part(self, &arrays) || !may_share(self, &arrays)) return 0;
    int ready = is_ready(self);
    if (ready <= 0) return ready;
    PyObject *dtype = (PyObject *)arrays.first->dtype;
    if (self->reduces && !(unit = unit_of(self, dtype, args[FIRST_EXTRA]))) return -1;
    PyObject *result = use_arrays(self, &arrays, args, &stream) < 0
                           ? NULL
                           : call_bindings(self, &arrays, unit, args + FIRST_EXTRA, extra_count, stream);
    Py_XDECREF(unit);
    Py_XDECREF(result);
    return result ? 1 : -1;
}

static PyObject *call_collective(PyObject *callable, PyObject *const *args, size_t flags, PyObject *keywords)
{
    FastCollectiveObject *self = collective_cast(callable);
    Py_ssize_t extra_count = PyVectorcall_NARGS(flags) - FIRST_EXTRA;
    bool fits = extra_count >= self->reduces && extra_count <= EXTRA_MAX && !keywords;
    int queued = fits ? queue(self, args, extra_count) : 0;
    return queued ? none_unless(queued < 0) : PyObject_Vectorcall(self->checks, args, flags, keywords);
}

/* ---- The type ---- */

/* The attribute of `checks` that each field is read from. */
typedef struct Field {
    const char *name;
    size_t offset;
} Field;

#define FIELD(name) {#name, offsetof(FastCollectiveObject, name)}
static const Field objects[] = {FIELD(comm), FIELD(handle), FIELD(function), FIELD(moved_as), FIELD(reduce)};
static const Field numbers[] = {FIELD(device), FIELD(rank), FIELD(ranks)};
static const Field answers[] = {
    FIELD(sends),         FIELD(receives),          FIELD(has_two_addresses),
    FIELD(sent_in_parts), FIELD(received_in_parts), FIELD(is_exact),
    FIELD(reduces),
};
#undef FIELD
#define FIELDS(table) (table), sizeof(table) / sizeof *(table)

static int put_object(void *field, PyObject *value)
{
    *(PyObject **)field = Py_NewRef(value);
    return 0;
}

static int put_number(void *field, PyObject *value) { return convert_int(value, "the number", field); }

static int put_answer(void *field, PyObject *value) { return convert_bool(value, field); }

/* Puts the attributes of `from` into the fields of a row. -1 with an exception. */
static int read_fields(FastCollectiveObject *self, PyObject *from, int (*put)(void *field, PyObject *value),
                       const Field *rows, size_t count)
{
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        PyObject *value = PyObject_GetAttrString(from, rows[i].name);
        failed = value ? put((char *)self + rows[i].offset, value) : -1;
        Py_XDECREF(value);
    }
    return failed;
}

static int read_checks(FastCollectiveObject *self)
{
    PyObject *operation = PyObject_GetAttrString(self->checks, "operation");
    int failed = !operation || read_fields(self, self->checks, put_object, FIELDS(objects)) < 0
                 || read_fields(self, self->checks, put_number, FIELDS(numbers)) < 0
                 || read_fields(self, operation, put_answer, FIELDS(answers)) < 0;
    PyObject *pointer = failed ? NULL : PyObject_GetAttr(self->comm, self->state->str_ptr);
    failed = !pointer || convert_bits(pointer, "comm.ptr", 64, &self->pointer) < 0;
    Py_XDECREF(pointer);
    Py_XDECREF(operation);
    return failed ? -1 : 0;
}

PyDoc_STRVAR(collective_doc,
             "_FastCollective(checks)\n--\n\n"
             "An operation of a communicator, called as `checks`, a Collective. It makes the calls with\n"
             "GPUArrays that break no rule, and gives the others to `checks`.");

static PyObject *collective_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *checks;
    if (READ_CALL(collective_doc, INTO(&checks)) < 0) return NULL;
    FastCollectiveObject *self = collective_cast(type->tp_alloc(type, 0));
    if (!self) return NULL;
    self->call = section_vectorcall(call_collective);
    self->state = state_of_type(type);
    self->checks = Py_NewRef(checks);
    if (read_checks(self) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static int collective_traverse(PyObject *object, visitproc visit, void *arg)
{
    const FastCollectiveObject *self = collective_cast(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->checks);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        Py_VISIT(*(PyObject **)((char *)object + objects[i].offset));
    Py_VISIT(self->last.dtype);
    Py_VISIT(self->last.op);
    Py_VISIT(self->last.unit);
    return 0;
}

static int collective_clear(PyObject *object)
{
    FastCollectiveObject *self = collective_cast(object);
    Py_CLEAR(self->checks);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        Py_CLEAR(*(PyObject **)((char *)object + objects[i].offset));
    Py_CLEAR(self->last.dtype);
    Py_CLEAR(self->last.op);
    Py_CLEAR(self->last.unit);
    return 0;
}

static void collective_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    collective_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef collective_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FastCollectiveObject, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec _FastCollective_spec = {
    TYPE_OF("pycuda._driver._FastCollective", FastCollectiveObject, Py_TPFLAGS_HAVE_VECTORCALL,
            collective_doc),
    .tp_new = collective_new,
    .tp_dealloc = collective_dealloc,
    .tp_traverse = collective_traverse,
    .tp_clear = collective_clear,
    .tp_call = PyVectorcall_Call,
    TYPE_TABLES(NULL, NULL, collective_members),
};
