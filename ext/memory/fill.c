/* Fills of device memory with a repeated value: the memset functions. */
#include "ext/convert/convert.h"
#include "ext/memory/copy.h"
#include "ext/errors.h"
#include "ext/wait.h"

typedef struct Fill {
    CUdeviceptr dest;
    size_t pitch, width, height;    /* one row of `width` values for the plain forms */
    unsigned value;
    CUstream stream;
} Fill;

typedef CUresult (*FillFn)(const Fill *fill);

#define FILL_FUNCTIONS(bits, type) \
    IN_CALL static CUresult fill_d##bits(const Fill *f) \
    { \
        return driver.cuMemsetD##bits(f->dest, (type)f->value, f->width); \
    } \
    IN_CALL static CUresult fill_d##bits##_async(const Fill *f) \
    { \
        return driver.cuMemsetD##bits##Async(f->dest, (type)f->value, f->width, f->stream); \
    } \
    IN_CALL static CUresult fill_d2d##bits(const Fill *f) \
    { \
        return driver.cuMemsetD2D##bits(f->dest, f->pitch, (type)f->value, f->width, f->height); \
    } \
    IN_CALL static CUresult fill_d2d##bits##_async(const Fill *f) \
    { \
        return driver.cuMemsetD2D##bits##Async(f->dest, f->pitch, (type)f->value, f->width, f->height, \
                                               f->stream); \
    }
FILL_FUNCTIONS(8, unsigned char)
FILL_FUNCTIONS(16, unsigned short)
FILL_FUNCTIONS(32, unsigned int)
#undef FILL_FUNCTIONS

/* One of the twelve functions. */
typedef struct FillForm {
    const char *function, *routine;
    int bits;
    bool shaped, async;
    FillFn run;
} FillForm;

static const char *const plain_names[] = {"dest", "data", "size|count", "stream", NULL};
static const char *const shaped_names[] = {"dest", "pitch", "data", "width", "height", "stream", NULL};

/* Bytes from the first to the last one written; SIZE_MAX when that is no size. */
static size_t extent(const Fill *fill, int bits)
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

/* Sorts the arguments into `fill` and returns those that are objects to keep. */
static int read_arguments(const FillForm *form, FAST_PARAMETERS, Fill *fill, PyObject **dest, PyObject **stream)
{
    const char *const *names = form->shaped ? shaped_names : plain_names;
    const char *without_stream[6];
    PyObject *given[6] = {NULL};
    int count = form->shaped ? 5 : 3, data = form->shaped ? 2 : 1;
    for (int i = 0; i < count; i++) without_stream[i] = names[i];
    without_stream[count] = NULL;
    if (convert_arguments(form->function, form->async ? names : without_stream, count, args, arg_count,
                          keywords, given)
        < 0)
        return -1;
    *fill = (Fill){.height = 1};
    *dest = given[0];
    *stream = given[count];
    if (read_value(given[data], form->bits, &fill->value) < 0) return -1;
    if (!form->shaped) return convert_size(given[2], "size", &fill->width);
    return convert_size(given[1], "pitch", &fill->pitch) < 0
                   || convert_size(given[3], "width", &fill->width) < 0
                   || convert_size(given[4], "height", &fill->height) < 0
               ? -1
               : 0;
}

static PyObject *fill_memory(PyObject *module, const FillForm *form, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *dest, *stream;
    Fill fill;
    CUresult result = CUDA_SUCCESS;
    if (read_arguments(form, args, arg_count, keywords, &fill, &dest, &stream) < 0
        || (form->async && convert_stream(state, stream, &fill.stream) < 0)
        || convert_range_on(state, dest, "dest", extent(&fill, form->bits), fill.stream, &fill.dest) < 0)
        return NULL;
    if (copy_begin(state, form->async, stream, &fill.stream, dest, NULL) < 0) return NULL;
    if (fill.width == 0 || fill.height == 0) Py_RETURN_NONE;
    if (form->async)
        CALL(state, result, form->run(&fill));
    else
        CALL_WAITING(state, result, ON_STREAM(NULL), form->run(&fill));
    return none_or_raise(state, result, form->routine);
}

#define MEMSET(form, routine, bits, shaped, async) \
    static PyObject *memset_##form(PyObject *module, FAST_PARAMETERS) \
    { \
        static const FillForm row = {"memset_" #form, routine, bits, shaped, async, fill_##form}; \
        return fill_memory(module, &row, args, arg_count, keywords); \
    }
MEMSET(d8, "cuMemsetD8", 8, false, false)
MEMSET(d16, "cuMemsetD16", 16, false, false)
MEMSET(d32, "cuMemsetD32", 32, false, false)
MEMSET(d2d8, "cuMemsetD2D8", 8, true, false)
MEMSET(d2d16, "cuMemsetD2D16", 16, true, false)
MEMSET(d2d32, "cuMemsetD2D32", 32, true, false)
MEMSET(d8_async, "cuMemsetD8Async", 8, false, true)
MEMSET(d16_async, "cuMemsetD16Async", 16, false, true)
MEMSET(d32_async, "cuMemsetD32Async", 32, false, true)
MEMSET(d2d8_async, "cuMemsetD2D8Async", 8, true, true)
MEMSET(d2d16_async, "cuMemsetD2D16Async", 16, true, true)
MEMSET(d2d32_async, "cuMemsetD2D32Async", 32, true, true)
#undef MEMSET

#define PLAIN(bits) \
    {"memset_d" #bits, AS_METHOD(memset_d##bits), FAST_KEYWORDS, \
     "memset_d" #bits "(dest, data, size)\n--\n\n" \
     "Write the " #bits "-bit value `data` `size` times, and wait. ValueError when the allocation is\n" \
     "smaller (cuMemsetD" #bits "). The keyword may be `count`."}, \
        {"memset_d" #bits "_async", AS_METHOD(memset_d##bits##_async), FAST_KEYWORDS, \
         "memset_d" #bits "_async(dest, data, size, stream=None)\n--\n\n" \
         "memset_d" #bits " queued on a stream (cuMemsetD" #bits "Async)."}
#define SHAPED(bits) \
    {"memset_d2d" #bits, AS_METHOD(memset_d2d##bits), FAST_KEYWORDS, \
     "memset_d2d" #bits "(dest, pitch, data, width, height)\n--\n\n" \
     "Write the " #bits "-bit value `data` `width` times in each of `height` rows, `pitch` bytes apart\n" \
     "(cuMemsetD2D" #bits ")."}, \
        {"memset_d2d" #bits "_async", AS_METHOD(memset_d2d##bits##_async), FAST_KEYWORDS, \
         "memset_d2d" #bits "_async(dest, pitch, data, width, height, stream=None)\n--\n\n" \
         "memset_d2d" #bits " queued on a stream (cuMemsetD2D" #bits "Async)."}
static PyMethodDef functions[] = {
    PLAIN(8), PLAIN(16), PLAIN(32), SHAPED(8), SHAPED(16), SHAPED(32), {NULL, NULL, 0, NULL},
};
#undef PLAIN
#undef SHAPED

int fill_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
