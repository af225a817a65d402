/* Python objects as kernel arguments: where in memory the bytes of each are.
 *
 * Nothing is copied if the bytes are in memory already: the value inside a NumPy scalar, the address inside a
 * GPUArray. A Function remembers for each position the kind of the last argument (FunctionObject.hints), so
 * that the usual case is one comparison. */
#ifndef EXT_LAUNCH_ARGUMENTS_H
#define EXT_LAUNCH_ARGUMENTS_H

#include "ext/memory/device_memory.h"
#include "ext/launch/function.h"

/* One argument, for as long as the call holds the object. */
typedef struct ArgumentValue {
    const void *data;
    uint32_t size, alignment;
} ArgumentValue;

/* How objects of exactly one type are passed. */
typedef enum ArgumentHow { ARGUMENT_VALUE, ARGUMENT_ALLOCATION, ARGUMENT_ARRAY } ArgumentHow;

typedef struct ArgumentKind {
    PyTypeObject *type;         /* borrowed: NumPy's, or the state's */
    uint8_t how;                /* an ArgumentHow */
    uint8_t size, alignment;
    uint16_t where;             /* offset of the bytes in the object */
} ArgumentKind;

/* The table of kinds, to which hints are indices. */
static inline const ArgumentKind *launch_args_kinds(const ModuleState *state)
{
    return (const ArgumentKind *)PyBytes_AS_STRING(state->argument_kinds);
}

/* Fills the table. Called again when the type GPUArray is made. */
void launch_args_fill_kinds(ModuleState *state);

/* The arguments of one launch. */
typedef struct LaunchArgs {
    FunctionObject *function;
    Py_ssize_t count;
    CUstream stream;            /* of the launch */
    PyObject *stream_object;    /* borrowed: the same, or None; NULL: the arguments outlive the call */
    void **params;              /* a pointer to each argument's bytes, as the driver takes them */
    ArgumentValue *values;      /* all arguments, if the kernel's layout is not known */
    CUdeviceptr *scratch;       /* one for each position, for addresses that are nowhere else in memory */
    void *heap;                 /* owned: the three arrays when the ones below are too short; or NULL */
    PyObject *handlers;         /* list of the ArgumentHandlers, NULL when there are none */
    PyObject *keep;             /* list of objects made for this call, NULL when there are none */
    void *stack_params[KERNEL_ARGS_STACK_COUNT];
    ArgumentValue stack_values[KERNEL_ARGS_STACK_COUNT];
    CUdeviceptr stack_scratch[KERNEL_ARGS_STACK_COUNT];
} LaunchArgs;

/* Finds the bytes of all arguments, and compares their number and sizes with the kernel's parameters. Orders
 * the stream, on which the launch follows, after the work of the owners of other libraries' arrays. -1 with
 * an exception. The caller calls launch_args_clear() in either case. stream_object: as in LaunchArgs. */
int launch_args_read(LaunchArgs *launch, FunctionObject *function, PyObject *const *args, Py_ssize_t count,
                     CUstream stream, PyObject *stream_object);
void launch_args_clear(LaunchArgs *launch);

/* True if the argument is a number whose value the launch copies, so that the object is not needed
 * afterwards. Only the kind that was seen last at this position is tested: false for arguments of other
 * kinds. */
static inline bool launch_args_is_value(const FunctionObject *function, Py_ssize_t position,
                                        PyObject *argument)
{
    if (position >= KERNEL_ARGS_STACK_COUNT) return false;
    uint8_t hint = atomic_load_explicit(&function->hints[position], memory_order_relaxed);
    const ArgumentKind *kind = &launch_args_kinds(function->state)[hint];
    return kind->type == Py_TYPE(argument) && kind->how == ARGUMENT_VALUE;
}

/* Resets the kind of argument that was seen last at this position: the next one is looked at in full. */
void launch_args_expect_none(FunctionObject *function, Py_ssize_t position);

/* False with LogicError when the launch would be captured: then neither argument handlers nor a timer
 * (`timed`) can be used. */
bool launch_is_eager(ModuleState *state, CUstream stream, bool timed);

/* Copies the values one after another with their natural alignment. Returns the bytes, or (size_t)-1 when
 * they are more than `capacity`. */
size_t launch_args_flatten(const LaunchArgs *launch, unsigned char *bytes, size_t capacity);

/* -1 with LogicError when an allocation that is an argument of this function was freed, or its context is
 * gone. Whether a kernel can access memory of another context is left to the driver; for GPUArrays and arrays
 * of other libraries it is found out before the launch. */
int launch_args_check_allocation(FunctionObject *function, Py_ssize_t position,
                                 DeviceAllocationObject *allocation);

/* *out: the address of an argument that may be passed where a kernel expects one. -1 with TypeError, which
 * names the position, or with LogicError as for launch_args_check_allocation(). */
int launch_args_address(FunctionObject *function, Py_ssize_t position, PyObject *argument, CUstream stream,
                        CUdeviceptr *out);

#endif
