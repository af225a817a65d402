/* Python objects as kernel arguments: where the bytes of each lie.
 *
 * Nothing is copied where the bytes already lie in memory: the value inside a NumPy scalar, the address
 * inside a GPUArray. Each position of a Function remembers which kind it saw last (FunctionObject.hints), so
 * that the common case is one comparison.
 */
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
    uint8_t how, size, alignment;
    uint16_t where;             /* of the bytes in the object */
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
    CUstream stream;            /* that the launch goes to */
    void **params;              /* one pointer an argument, as the driver takes them */
    ArgumentValue *values;      /* filled in where the kernel's layout is not known */
    CUdeviceptr *scratch;       /* one a position, for addresses that lie nowhere else */
    void *heap;                 /* owned, when the stack does not hold them */
    PyObject *handlers;         /* list of the ArgumentHandlers, NULL when there are none */
    PyObject *keep;             /* list of objects made for this call, NULL when there are none */
    void *stack_params[KERNEL_ARGS_STACK_COUNT];
    ArgumentValue stack_values[KERNEL_ARGS_STACK_COUNT];
    CUdeviceptr stack_scratch[KERNEL_ARGS_STACK_COUNT];
} LaunchArgs;

/* Finds the bytes of all arguments and compares number and sizes with the kernel's own; the launch to come on
 * the stream is ordered after the work of other libraries' arrays. -1 with an exception.
 * launch_args_clear is due in either case. */
int launch_args_read(LaunchArgs *launch, FunctionObject *function, PyObject *const *args, Py_ssize_t count,
                     CUstream stream);
void launch_args_clear(LaunchArgs *launch);

/* True if the argument is a number whose value the launch copies, so that the object is not needed
 * afterwards. Only the kind that was seen last at this position is tested: false for all others. */
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

/* Checks an allocation that is an argument of this function: LogicError (-1) when it was freed or its
 * context is gone. Whether a kernel reaches memory of another context is left to the driver. */
int launch_args_check_allocation(FunctionObject *function, Py_ssize_t position,
                                 DeviceAllocationObject *allocation);

/* *out: the address of an argument that may be passed where a kernel expects one. -1 with TypeError, which
 * names the position, or with LogicError as for launch_args_check_allocation(). */
int launch_args_address(FunctionObject *function, Py_ssize_t position, PyObject *argument, CUstream stream,
                        CUdeviceptr *out);

#endif
