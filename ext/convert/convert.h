/* Python values to C. Each converter returns 0, or -1 with an exception that names the parameter. */
#ifndef EXT_CONVERT_CONVERT_H
#define EXT_CONVERT_CONVERT_H

#include "ext/base/ext.h"

struct _PyArray_Descr;

/* Sorts positional and keyword arguments into given[], one borrowed reference a parameter, NULL where not
 * given. signature is the callable's docstring, "name($self, a, b=None)\n--\n\n...": parameters without a
 * default are required, each may be passed by keyword, and there are `total`. */
int convert_arguments(const char *signature, FAST_PARAMETERS, PyObject **given, int total);

/* As convert_arguments(), for tp_new, tp_init and tp_call. */
int convert_call(const char *signature, PyObject *args, PyObject *kwargs, PyObject **given, int total);

/* The last two arguments of the two functions above: an array and its length. */
#define GIVEN(array) (array), (int)(sizeof(array) / sizeof((array)[0]))
#define NOTHING_GIVEN NULL, 0

/* The target of an argument: a C variable, whose type says how the argument is converted. An argument that is
 * not given leaves it unchanged; an object becomes NULL. */
typedef struct ArgumentTarget {
    enum {
        INTO_OBJECT, /* borrowed */
        INTO_TYPE, /* borrowed, an object of `type` */
        INTO_TEXT, /* as UTF-8, which lives as long as the argument */
        INTO_BOOL,
        INTO_INT,
        INTO_UNSIGNED,
        INTO_SIZE,
        INTO_BITS, /* 0 to 2**64 - 1 */
        INTO_DOUBLE
    } kind;
    void *variable;
    PyTypeObject *type; /* of INTO_TYPE */
} ArgumentTarget;

#define INTO(address) \
    ((ArgumentTarget){_Generic((address), \
                          PyObject * *: INTO_OBJECT, \
                          const char **: INTO_TEXT, \
                          bool *: INTO_BOOL, \
                          int *: INTO_INT, \
                          unsigned *: INTO_UNSIGNED, \
                          size_t *: INTO_SIZE, \
                          unsigned long long *: INTO_BITS, \
                          double *: INTO_DOUBLE), \
                      (address), NULL})
#define INTO_A(module_type, address) \
    ((ArgumentTarget){_Generic((address), PyObject * *: INTO_TYPE), (address), (module_type)})

/* Sort the arguments and convert each into its target: READ_ARGUMENTS in a function with FAST_PARAMETERS,
 * READ_CALL in one with args and kwargs. -1 with an exception, which names the parameter as the signature
 * does. */
#define READ_ARGUMENTS(signature, ...) \
    convert_read(signature, args, arg_count, keywords, TARGETS(__VA_ARGS__))
#define READ_CALL(signature, ...) convert_read_call(signature, args, kwargs, TARGETS(__VA_ARGS__))
#define TARGETS(...) \
    (const ArgumentTarget[]){__VA_ARGS__}, \
        (int)(sizeof((const ArgumentTarget[]){__VA_ARGS__}) / sizeof(ArgumentTarget))
int convert_read(const char *signature, FAST_PARAMETERS, const ArgumentTarget *targets, int total);
int convert_read_call(const char *signature, PyObject *args, PyObject *kwargs, const ArgumentTarget *targets,
                      int total);

/* *out: whether the object is true, as bool() says. */
int convert_bool(PyObject *value, bool *out);

/* Integers: Python's and NumPy's and all other objects with __index__, but no floats. value NULL leaves *out
 * unchanged. */
int convert_size(PyObject *value, const char *what, size_t *out);
int convert_int(PyObject *value, const char *what, int *out);
int convert_length(PyObject *value, long long *out); /* a dimension in shape, which may be negative */
int convert_unsigned(PyObject *value, const char *what, unsigned *out);
int convert_bits(PyObject *value, const char *what, int bits, unsigned long long *out); /* 0 .. 2**bits - 1 */

/* A shape as NumPy's messages write it, a new reference: "(3,4)", "(5,)". Negative lengths stand for unknown
 * ones: they are left out at the beginning, and are "newaxis" after it. */
PyObject *convert_shape_text(int ndim, const Py_ssize_t *shape);

/* -1 with ValueError unless the numbers of this dtype, and of its fields, are in the byte order of devices.
 */
int convert_check_byte_order(struct _PyArray_Descr *dtype, const char *what);

/* -1 with ValueError unless kernels can read all elements: no address overflows, and elements are aligned:
 * numbers to their size, complex numbers to that of their parts, other elements to the size of the words by
 * which they are copied (strides_word). */
int convert_aligned(struct _PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                    const Py_ssize_t *strides, CUdeviceptr pointer);

/* block (exactly 3) and grid (1 to 3, missing ones are 1): sequences of integers. */
int convert_block(PyObject *value, unsigned out[3]);
int convert_grid(PyObject *value, unsigned out[3]);
int convert_cluster(PyObject *value, unsigned out[3]); /* as grid */

/* Shape (an int or an iterable of ints), dtype and order ("C" or "F") of a host array to make. */
enum { HOST_ARRAY_DIMS_MAX = 64 }; /* as in NumPy 2; NumPy 1 itself refuses more than 32 */
typedef struct HostArrayLayout {
    struct _PyArray_Descr *dtype; /* owned until convert_layout_clear or an array takes it */
    Py_ssize_t shape[HOST_ARRAY_DIMS_MAX];
    int rank;
    bool fortran;
    size_t bytes;
} HostArrayLayout;
int convert_layout(ModuleState *state, PyObject *shape, PyObject *dtype, PyObject *order,
                   HostArrayLayout *out);
int convert_layout_like(PyObject *array, HostArrayLayout *out); /* ValueError unless C- or F-contiguous */
void convert_layout_clear(HostArrayLayout *layout);

/* A new NumPy array of this layout over `memory`, which `owner` keeps alive: the array takes the layout's
 * dtype and the caller's reference to owner. memory and owner NULL: NumPy allocates the memory. NULL with an
 * exception; the references are taken then, too. */
PyObject *convert_make_array(HostArrayLayout *layout, void *memory, PyObject *owner);

/* False with TypeError, "what must be an Event, not ...", unless the value is of this type of the module. */
bool convert_check_type(PyObject *value, PyTypeObject *type, const char *what);

/* PySequence_Fast(): a list or a tuple with the items of an iterable, a new reference. Without a GIL other
 * threads may change a list at any time: then it is a copy. NULL with TypeError(message). */
PyObject *convert_items(PyObject *value, const char *message);

/* The module of this name if it is imported, a new reference, or NULL, without an exception. */
PyObject *convert_imported_module(const char *name);

/* An attribute that most objects do not have, a new reference. 1 found, 0 absent, -1 with an exception. */
int convert_find_attribute(PyObject *object, PyObject *name, PyObject **out);

#endif
