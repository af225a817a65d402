/* Fills of device memory with a repeated value: the memset functions. */
#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"
#include "ext/memory/copy.h"
#include "ext/memory/device_pointer.h"
#include "ext/stream/stream.h"

typedef struct Fill {
    CUdeviceptr dest;
    size_t pitch, width, height;    /* pitch in bytes, width in values; the plain forms fill one row */
    unsigned value;
    CUstream stream;
} Fill;

typedef int (*FillFn)(ModuleState *state, const Fill *fill);

#define FILL_FUNCTIONS(bits, type) \
    static int fill_d##bits(ModuleState *state, const Fill *f) \
    { \
        return gpu_cuMemsetD##bits(state, f->dest, (type)f->value, f->width); \
    } \
    static int fill_d##bits##_async(ModuleState *state, const Fill *f) \
    { \
        return gpu_cuMemsetD##bits##Async(state, f->dest, (type)f->value, f->width, f->stream); \
    } \
    static int fill_d2d##bits(ModuleState *state, const Fill *f) \
    { \
        return gpu_cuMemsetD2D##bits(state, f->dest, f->pitch, (type)f->value, f->width, f->height); \
    } \
    static int fill_d2d##bits##_async(ModuleState *state, const Fill *f) \
    { \
        return gpu_cuMemsetD2D##bits##Async(state, f->dest, f->pitch, (type)f->value, f->width, f->height, \
                                            f->stream); \
    }
FILL_FUNCTIONS(8, unsigned char)
FILL_FUNCTIONS(16, unsigned short)
FILL_FUNCTIONS(32, unsigned int)
#undef FILL_FUNCTIONS

/* One of the twelve functions. */
typedef struct FillForm {
    const char *signature;
    int bits; /* of a value */
    bool shaped; /* it fills rows: arguments dest, pitch, data, width, height; else dest, data, size */
    bool async; /* it takes a stream, the last argument */
    FillFn run;
} FillForm;

/* Bytes from the first to the last one written; SIZE_MAX when that is not a size. */
static size_t filled_bytes(const Fill *fill, int bits)
{
    size_t row, rows, bytes;
    if (fill->width == 0 || fill->height == 0) return 0;
    if (__builtin_mul_overflow(fill->width, (size_t)bits / 8, &row)
        || __builtin_mul_overflow(fill->height - 1, fill->pitch, &rows)
        || __builtin_add_overflow(row, rows, &bytes))
        return SIZE_MAX;
    return bytes;
}

static int read_value(PyObject *data, int bits, unsigned *out)
{
    unsigned long long value;
    if (convert_bits(data, "data", bits, &value) < 0) return -1;
    *out = (unsigned)value;
    return 0;
}

/* Reads the arguments into *fill, except dest and stream, which are returned as they were given, borrowed. -1
 * with an exception. */
static int read_arguments(const FillForm *form, FAST_PARAMETERS, Fill *fill, PyObject **dest,
                          PyObject **stream)
{
    PyObject *given[6] = {NULL};
    int count = form->shaped ? 5 : 3, data = form->shaped ? 2 : 1;
    if (convert_arguments(form->signature, args, arg_count, keywords, given, count + form->async) < 0)
        return -1;
    *fill = (Fill){.height = 1};
    *dest = given[0];
    *stream = given[count];
    if (read_value(given[data], form->bits, &fill->value) < 0) return -1;
    if (!form->shaped) return convert_size(given[2], "size", &fill->width);
    if (convert_size(given[1], "pitch", &fill->pitch) < 0
        || convert_size(given[3], "width", &fill->width) < 0)
        return -1;
    return convert_size(given[4], "height", &fill->height);
}

static PyObject *fill_memory(PyObject *module, const FillForm *form, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *dest, *stream;
    Fill fill;
    Kept kept;
    if (read_arguments(form, args, arg_count, keywords, &fill, &dest, &stream) < 0
        || (form->async && convert_stream(state, stream_or_current(state, stream), &fill.stream) < 0)
        || convert_range_on(state, dest, "dest", filled_bytes(&fill, form->bits), fill.stream, &fill.dest)
               < 0)
        return NULL;
    if (fill.width == 0 || fill.height == 0) Py_RETURN_NONE;
    if (copy_begin(state, form->async, stream, &fill.stream, dest, NULL, &kept) < 0) return NULL;
    int failed = form->run(state, &fill);
    keep_alive_end(state, &kept);
    return none_unless(failed);
}

#define DEST "\nParameters\n----------\ndest : device address\n"
#define DATA(bits) "data : int\n    Of " #bits " bits.\n"
#define SIZE "size : int\n    How many values to write (the keyword may be ``count``).\n"
#define SHAPE \
    "width : int\n    Values of a row.\n" \
    "height : int\n    Rows.\n"
#define PITCH "pitch : int\n    Bytes from row to row.\n"
#define STREAM "stream : Stream\n"
#define END(routine) \
    "\nRaises\n------\nValueError\n    The allocation is smaller.\n\nNotes\n-----\nCalls " routine "."

/* The four functions for values of one size: a run of them or rows of them, and each queued on a stream. */
#define MEMSETS(bits) \
    MEMSET(d##bits, bits, false, false, \
           "memset_d" #bits \
           "(dest, data, size)\n--\n\nFill device memory with a value and wait.\n" DEST DATA(bits) \
               SIZE END("cuMemsetD" #bits)) \
    MEMSET(d##bits##_async, bits, false, true, \
           "memset_d" #bits "_async(dest, data, size, stream=None)\n--\n\n" \
           "Queue a fill of device memory with a value.\n" DEST DATA(bits) \
               SIZE STREAM END("cuMemsetD" #bits "Async")) \
    MEMSET(d2d##bits, bits, true, false, \
           "memset_d2d" #bits "(dest, pitch, data, width, height)\n--\n\n" \
           "Fill rows of device memory with a value and wait.\n" DEST PITCH DATA(bits) \
               SHAPE END("cuMemsetD2D" #bits)) \
    MEMSET(d2d##bits##_async, bits, true, true, \
           "memset_d2d" #bits "_async(dest, pitch, data, width, height, stream=None)\n--\n\n" \
           "Queue a fill of rows of device memory with a value.\n" DEST PITCH DATA(bits) \
               SHAPE STREAM END("cuMemsetD2D" #bits "Async"))

#define MEMSET(form, bits, shaped, async, text) \
    PyDoc_STRVAR(memset_##form##_doc, text); \
    static PyObject *memset_##form(PyObject *module, FAST_PARAMETERS) \
    { \
        static const FillForm row = {memset_##form##_doc, bits, shaped, async, fill_##form}; \
        return fill_memory(module, &row, args, arg_count, keywords); \
    }
MEMSETS(8)
MEMSETS(16)
MEMSETS(32)
#undef MEMSET

#define MEMSET(form, bits, shaped, async, text) \
    {"memset_" #form, AS_METHOD(memset_##form), FAST_KEYWORDS, memset_##form##_doc},
PyMethodDef fill_functions[] = {
    MEMSETS(8) MEMSETS(16) MEMSETS(32){NULL, NULL, 0, NULL},
};
#undef MEMSET
#undef MEMSETS
