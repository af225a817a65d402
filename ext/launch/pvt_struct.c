/* Packed arguments: the functions of pycuda._pvt_struct, and the packing of one value for prepared calls.
 *
 * The interface is that of the struct module in native mode, with F and D for complex numbers.
 */
#include "ext/launch/pvt_struct.h"

#include <string.h>

#include "ext/base/numpy_api.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/convert/plain_int.h"
#include "ext/memory/device_pointer.h"

#if PY_VERSION_HEX < 0x030B0000
#define PyFloat_Pack2(value, out, little) _PyFloat_Pack2(value, (unsigned char *)(out), little)
#define PyFloat_Unpack2(in, little) _PyFloat_Unpack2((const unsigned char *)(in), little)
#endif

typedef struct PackStructObject {
    PyObject_HEAD
    ModuleState *state;
    PyObject *text;     /* the format, a str */
    PackFormat format;
} PackStructObject;

static PackStructObject *pack_struct_cast(PyObject *object) { return (PackStructObject *)object; }

static int raise_pack(ModuleState *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(state->PackError, format, arguments);
    va_end(arguments);
    return -1;
}

int pack_read_format(ModuleState *state, PyObject *text, PackFormat *out)
{
    static const char *const problems[] = {
        [PACK_BAD_CODE] = "bad char in struct format",
        [PACK_NO_CODE] = "repeat count given without format specifier",
        [PACK_TOO_LARGE] = "total struct size too long",
        [PACK_BAD_ORDER] = "only native byte order, size and alignment are packed",
    };
    Py_ssize_t length;
    size_t where;
    const char *bytes;
    if (PyBytes_Check(text)) {
        bytes = PyBytes_AS_STRING(text);
        length = PyBytes_GET_SIZE(text);
    } else if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "a format is a str or bytes, not %.200s", Py_TYPE(text)->tp_name);
        return -1;
    } else if (!(bytes = PyUnicode_AsUTF8AndSize(text, &length))) {
        return -1;
    }
    PackStatus status = pack_format_parse(out, bytes, (size_t)length, &where);
    if (status == PACK_OK) return 0;
    if (status == PACK_NO_MEMORY) {
        PyErr_NoMemory();
        return -1;
    }
    return raise_pack(state, "%s, at character %zu of '%s'", problems[status], where, bytes);
}

/* Writing */

static void store_integer(unsigned char *out, size_t size, unsigned long long bits)
{
    switch (size) {
    case 1: *out = (unsigned char)bits; break;
    case 2: memcpy(out, &(uint16_t){(uint16_t)bits}, 2); break;
    case 4: memcpy(out, &(uint32_t){(uint32_t)bits}, 4); break;
    default: memcpy(out, &bits, 8); break;
    }
}

/* Writes an integer of code->size bytes. -1 with PackError when it does not fit. */
static int write_integer(ModuleState *state, const PackCode *code, PyObject *value, unsigned char *out)
{
    int bits = code->size * 8;
    long plain;
    unsigned long long number;
    if (bits >= 32 && plain_int(value, &plain) && (plain >= 0 || code->kind == PACK_SIGNED)) {
        store_integer(out, code->size, (unsigned long long)plain);
        return 0;
    }
    PyObject *index = PyNumber_Index(value);
    if (!index) {
        PyErr_Clear();
        return raise_pack(state, "format code '%c' takes an integer, not %.200s", code->code,
                          Py_TYPE(value)->tp_name);
    }
    if (code->kind == PACK_SIGNED) {
        int overflow;
        long long signed_number = PyLong_AsLongLongAndOverflow(index, &overflow);
        long long max = (long long)(~0ull >> (65 - bits)); /* 2**(bits - 1) - 1 */
        number = (unsigned long long)signed_number;
        if (overflow || signed_number > max || signed_number < -max - 1)
            raise_pack(state, "%S does not fit format code '%c'", index, code->code);
    } else {
        number = PyLong_AsUnsignedLongLong(index);
        bool out_of_range = number == ~0ull && PyErr_Occurred();
        if (out_of_range || number > ~0ull >> (64 - bits)) {
            PyErr_Clear();
            raise_pack(state, "%S does not fit format code '%c'", index, code->code);
        }
    }
    Py_DECREF(index);
    store_integer(out, code->size, number);
    return PyErr_Occurred() ? -1 : 0;
}

/* The bits of a bfloat16, which are the upper 16 bits of a float. */
enum { BFLOAT16_QUIET = 0x40, BFLOAT16_MAGNITUDE = 0x7fff, BFLOAT16_INFINITY = 0x7f80, BFLOAT16_SHIFT = 16 };

/* The bits of the nearest bfloat16, ties to even. */
static uint16_t bfloat16_of(double number)
{
    float narrow = (float)number;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (Py_IS_NAN(number)) return (uint16_t)(bits >> BFLOAT16_SHIFT | BFLOAT16_QUIET);
    /* Rounding to a float, then to a bfloat16, could make a tie of a number that is none. So the float is
     * rounded to odd: towards zero, and its last bit set if that was inexact. */
    bool inexact = (double)narrow != number && !Py_IS_INFINITY(narrow);
    if (inexact && fabs((double)narrow) > fabs(number)) bits--;
    bits |= inexact;
    const uint32_t below_half = (1u << (BFLOAT16_SHIFT - 1)) - 1, last_bit = bits >> BFLOAT16_SHIFT & 1;
    return (uint16_t)((bits + below_half + last_bit) >> BFLOAT16_SHIFT);
}

static int write_bfloat16(ModuleState *state, PyObject *value, double number, unsigned char *out)
{
    uint16_t bits = bfloat16_of(number);
    if ((bits & BFLOAT16_MAGNITUDE) == BFLOAT16_INFINITY && !Py_IS_INFINITY(number))
        return raise_pack(state, "%R is too large for format code 'E'", value);
    memcpy(out, &bits, sizeof bits);
    return 0;
}

static int write_float(ModuleState *state, const PackCode *code, PyObject *value, unsigned char *out)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return raise_pack(state, "format code '%c' takes a real number, not %.200s", code->code,
                          Py_TYPE(value)->tp_name);
    }
    if (code->kind == PACK_BFLOAT16) return write_bfloat16(state, value, number, out);
    float narrow = (float)number;
    if (code->kind == PACK_HALF) {
        if (PyFloat_Pack2(number, (char *)out, PY_LITTLE_ENDIAN) == 0) return 0;
        PyErr_Clear();
        return raise_pack(state, "%R is too large for format code 'e'", value);
    }
    if (code->size == sizeof narrow && Py_IS_INFINITY(narrow) && !Py_IS_INFINITY(number))
        return raise_pack(state, "%R is too large for format code 'f'", value);
    if (code->size == sizeof narrow)
        memcpy(out, &narrow, sizeof narrow);
    else
        memcpy(out, &number, sizeof number);
    return 0;
}

static int write_complex(ModuleState *state, const PackCode *code, PyObject *value, unsigned char *out)
{
    Py_complex number = PyComplex_AsCComplex(value);
    if (number.real == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return raise_pack(state, "format code '%c' takes a number, not %.200s", code->code,
                          Py_TYPE(value)->tp_name);
    }
    if (code->size == 2 * sizeof(float))
        memcpy(out, (float[]){(float)number.real, (float)number.imag}, code->size);
    else
        memcpy(out, (double[]){number.real, number.imag}, code->size);
    return 0;
}

/* An object that lends the value's bytes, a new reference: a 0-d array for NumPy scalars, as those of dtypes
 * that other libraries registered lend no buffer; otherwise the value itself. NULL with an exception. */
static PyObject *scalar_as_array(PyObject *value)
{
    if (PyArray_CheckScalar(value) && !PyArray_Check(value) && !PyBytes_Check(value))
        return PyArray_FromScalar(value, NULL);
    return Py_NewRef(value);
}

/* Writes a value of code s or p, `length` bytes: what is too long is cut, the rest is zeros. A Pascal string
 * (p) has its length, at most 255, in the first byte. */
static int write_bytes(ModuleState *state, const PackCode *code, size_t length, PyObject *value,
                       unsigned char *out)
{
    Py_buffer buffer;
    PyObject *lender = scalar_as_array(value);
    if (!lender) return -1;
    int failed = PyObject_GetBuffer(lender, &buffer, PyBUF_C_CONTIGUOUS);
    Py_DECREF(lender);
    if (failed) {
        PyErr_Clear();
        return raise_pack(state, "format code '%c' takes bytes or a contiguous buffer, not %.200s",
                          code->code, Py_TYPE(value)->tp_name);
    }
    bool pascal = code->kind == PACK_PASCAL;
    size_t capacity = pascal && length ? length - 1 : length;
    size_t taken = (size_t)buffer.len < capacity ? (size_t)buffer.len : capacity;
    memset(out, 0, length);
    memcpy(out + (pascal && length ? 1 : 0), buffer.buf, taken);
    if (pascal && length) out[0] = (unsigned char)(taken < UCHAR_MAX ? taken : UCHAR_MAX);
    PyBuffer_Release(&buffer);
    return 0;
}

static int write_pointer(ModuleState *state, PyObject *value, unsigned char *out)
{
    CUdeviceptr address;
    if (convert_pointer(state, value, &address) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError))
            return -1;
        PyErr_Clear();
        return raise_pack(state, "format code 'P' takes an address, not %.200s", Py_TYPE(value)->tp_name);
    }
    memcpy(out, &address, sizeof address);
    return 0;
}

static int write_char(ModuleState *state, PyObject *value, unsigned char *out)
{
    if (!PyBytes_Check(value) || PyBytes_GET_SIZE(value) != 1)
        return raise_pack(state, "format code 'c' takes a bytes object of length 1");
    *out = (unsigned char)PyBytes_AS_STRING(value)[0];
    return 0;
}

int pack_write(ModuleState *state, const PackCode *code, size_t length, PyObject *value, unsigned char *out)
{
    switch (code->kind) {
    case PACK_SIGNED:
    case PACK_UNSIGNED: return write_integer(state, code, value, out);
    case PACK_FLOAT:
    case PACK_HALF:
    case PACK_BFLOAT16: return write_float(state, code, value, out);
    case PACK_COMPLEX: return write_complex(state, code, value, out);
    case PACK_POINTER: return write_pointer(state, value, out);
    case PACK_CHAR: return write_char(state, value, out);
    case PACK_BOOL: return convert_bool(value, (bool *)out);
    default: return write_bytes(state, code, length, value, out);
    }
}

/* Reading */

static PyObject *read_integer(const PackCode *code, const unsigned char *in)
{
    unsigned long long bits = 0;
    int unused = 64 - code->size * 8;
    memcpy(&bits, in, code->size);
    if (code->kind == PACK_SIGNED) return PyLong_FromLongLong((long long)(bits << unused) >> unused);
    return PyLong_FromUnsignedLongLong(bits);
}

static PyObject *read_number(const PackCode *code, const unsigned char *in)
{
    float narrow[2];
    double wide[2];
    if (code->kind == PACK_HALF)
        return PyFloat_FromDouble(PyFloat_Unpack2((const char *)in, PY_LITTLE_ENDIAN));
    if (code->kind == PACK_BFLOAT16) {
        memset(narrow, 0, sizeof *narrow);
        memcpy((unsigned char *)narrow + sizeof(uint16_t), in, code->size); /* the upper half of a float */
        return PyFloat_FromDouble(narrow[0]);
    }
    bool is_complex = code->kind == PACK_COMPLEX;
    if (code->size == (is_complex ? sizeof narrow : sizeof *narrow)) {
        memcpy(narrow, in, code->size);
        wide[0] = narrow[0];
        wide[1] = is_complex ? narrow[1] : 0;
    } else {
        memcpy(wide, in, code->size);
    }
    return is_complex ? PyComplex_FromDoubles(wide[0], wide[1]) : PyFloat_FromDouble(wide[0]);
}

PyObject *pack_read(const PackCode *code, size_t length, const unsigned char *in)
{
    switch (code->kind) {
    case PACK_BOOL: return PyBool_FromLong(*in);
    case PACK_CHAR: return PyBytes_FromStringAndSize((const char *)in, 1);
    case PACK_BYTES: return PyBytes_FromStringAndSize((const char *)in, (Py_ssize_t)length);
    case PACK_PASCAL:
        if (length == 0) return PyBytes_FromStringAndSize(NULL, 0);
        return PyBytes_FromStringAndSize((const char *)in + 1, (Py_ssize_t)(*in < length ? *in : length - 1));
    case PACK_HALF:
    case PACK_BFLOAT16:
    case PACK_FLOAT:
    case PACK_COMPLEX: return read_number(code, in);
    default: return read_integer(code, in);
    }
}

/* Whole formats */

static int write_all(PackStructObject *self, PyObject *const *values, Py_ssize_t count, unsigned char *out)
{
    const PackFormat *format = &self->format;
    size_t next = 0;
    if ((size_t)count != format->value_count)
        return raise_pack(self->state, "pack expected %zu items for packing (got %zd)", format->value_count,
                          count);
    memset(out, 0, format->size);
    for (size_t i = 0; i < format->run_count; i++) {
        const PackRun *run = &format->runs[i];
        for (size_t k = 0; k < pack_run_values(run); k++)
            if (pack_write(self->state, run->code, run->count, values[next++],
                           out + run->offset + k * pack_run_step(run))
                < 0)
                return -1;
    }
    return 0;
}

static PyObject *read_all(PackStructObject *self, const unsigned char *in)
{
    const PackFormat *format = &self->format;
    Py_ssize_t next = 0;
    PyObject *values = PyTuple_New((Py_ssize_t)format->value_count);
    for (size_t i = 0; values && i < format->run_count; i++) {
        const PackRun *run = &format->runs[i];
        for (size_t k = 0; values && k < pack_run_values(run); k++) {
            PyObject *value = pack_read(run->code, run->count, in + run->offset + k * pack_run_step(run));
            if (value)
                PyTuple_SET_ITEM(values, next++, value);
            else
                Py_CLEAR(values);
        }
    }
    return values;
}

static PyObject *struct_new(ModuleState *state, PyObject *text)
{
    PackFormat format;
    if (pack_read_format(state, text, &format) < 0) return NULL;
    PackStructObject *self = PyObject_New(PackStructObject, state->PackStruct_type);
    PyObject *string =
        PyBytes_Check(text) ? PyUnicode_FromEncodedObject(text, "latin-1", NULL) : Py_NewRef(text);
    if (!self || !string) {
        pack_format_free(&format);
        Py_XDECREF(string);
        if (self) PyObject_Free(self);
        return NULL;
    }
    self->state = state;
    self->text = string;
    self->format = format;
    return (PyObject *)self;
}

PyDoc_STRVAR(struct_doc, "Struct(format)\n--\n\n"
                         "Values packed for a kernel, with the alignment of C.\n"
                         "\nParameters\n----------\n"
                         "format : str or bytes");

static PyObject *struct_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *given[1];
    if (convert_call(struct_doc, args, kwargs, GIVEN(given)) < 0) return NULL;
    return struct_new(state_of_type(type), given[0]);
}

static void struct_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    pack_format_free(&pack_struct_cast(self)->format);
    Py_XDECREF(pack_struct_cast(self)->text);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *struct_pack(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    PackStructObject *self = pack_struct_cast(object);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)self->format.size);
    if (bytes && write_all(self, args, count, (unsigned char *)PyBytes_AS_STRING(bytes)) < 0) Py_CLEAR(bytes);
    return bytes;
}

/* The place for the packed bytes in a buffer; a negative offset counts from its end. NULL with an exception.
 */
static unsigned char *buffer_place(PackStructObject *self, const Py_buffer *buffer, Py_ssize_t offset)
{
    Py_ssize_t at = offset < 0 ? offset + buffer->len : offset;
    if (at >= 0 && at <= buffer->len && (size_t)(buffer->len - at) >= self->format.size)
        return (unsigned char *)buffer->buf + at;
    raise_pack(self->state, "%zu bytes at offset %zd do not fit a buffer of %zd bytes", self->format.size,
               offset, buffer->len);
    return NULL;
}

static PyObject *struct_pack_into(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    PackStructObject *self = pack_struct_cast(object);
    Py_buffer buffer;
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "pack_into takes a buffer, an offset and values");
        return NULL;
    }
    Py_ssize_t offset = PyNumber_AsSsize_t(args[1], PyExc_IndexError);
    if ((offset == -1 && PyErr_Occurred()) || PyObject_GetBuffer(args[0], &buffer, PyBUF_WRITABLE) < 0)
        return NULL;
    unsigned char *out = buffer_place(self, &buffer, offset);
    int failed = !out || write_all(self, args + 2, count - 2, out) < 0;
    PyBuffer_Release(&buffer);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyObject *struct_unpack(PyObject *object, PyObject *value)
{
    PackStructObject *self = pack_struct_cast(object);
    PyObject *values = NULL;
    Py_buffer buffer;
    if (PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE) < 0) return NULL;
    if ((size_t)buffer.len == self->format.size)
        values = read_all(self, buffer.buf);
    else
        raise_pack(self->state, "unpack requires a buffer of %zu bytes", self->format.size);
    PyBuffer_Release(&buffer);
    return values;
}

PyDoc_STRVAR(unpack_from_doc, "unpack_from($self, buffer, offset=0)\n--\n\n"
                              "Unpack a part of a buffer.\n"
                              "\nParameters\n----------\n"
                              "buffer : bytes-like\n"
                              "offset : int\n    Bytes; a negative one counts from the end.\n"
                              "\nReturns\n-------\n"
                              "tuple");

static PyObject *struct_unpack_from(PyObject *object, FAST_PARAMETERS)
{
    PackStructObject *self = pack_struct_cast(object);
    PyObject *given[2];
    Py_buffer buffer;
    Py_ssize_t offset = 0;
    if (convert_arguments(unpack_from_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (given[1] && (offset = PyNumber_AsSsize_t(given[1], PyExc_IndexError)) == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(given[0], &buffer, PyBUF_SIMPLE) < 0) return NULL;
    unsigned char *in = buffer_place(self, &buffer, offset);
    PyObject *values = in ? read_all(self, in) : NULL;
    PyBuffer_Release(&buffer);
    return values;
}

static PyMemberDef struct_members[] = {
    {"size", T_PYSSIZET, offsetof(PackStructObject, format.size), READONLY, "Bytes of one packed value."},
    {"format", T_OBJECT, offsetof(PackStructObject, text), READONLY, "The format string."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef struct_methods[] = {
    {"pack", AS_METHOD(struct_pack), METH_FASTCALL,
     "pack($self, /, *values)\n--\n\n"
     "Pack values.\n"
     "\nReturns\n-------\n"
     "bytes"},
    {"pack_into", AS_METHOD(struct_pack_into), METH_FASTCALL,
     "pack_into($self, buffer, offset, /, *values)\n--\n\n"
     "Pack values into a writable buffer.\n"
     "\nParameters\n----------\n"
     "buffer : bytes-like\n"
     "offset : int\n    Bytes; a negative one counts from the end."},
    {"unpack", struct_unpack, METH_O,
     "unpack($self, buffer, /)\n--\n\n"
     "Unpack a buffer of exactly ``size`` bytes.\n"
     "\nParameters\n----------\n"
     "buffer : bytes-like\n"
     "\nReturns\n-------\n"
     "tuple"},
    {"unpack_from", AS_METHOD(struct_unpack_from), FAST_KEYWORDS, unpack_from_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec PackStruct_spec = {
    TYPE_OF("pycuda._driver._PackStruct", PackStructObject, 0, struct_doc),
    .tp_new = struct_tp_new,
    .tp_dealloc = struct_dealloc,
    TYPE_TABLES(struct_methods, NULL, struct_members),
};

int pvt_struct_setup(PyObject *module, ModuleState *state)
{
    state->PackError = PyErr_NewExceptionWithDoc(
        "pycuda._pvt_struct.error", "A value does not fit its format code.", PyExc_TypeError, NULL);
    return state->PackError ? PyModule_AddObjectRef(module, "_PackError", state->PackError) : -1;
}
