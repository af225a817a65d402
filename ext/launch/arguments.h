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

/* Once there is a class of arrays. */
void launch_args_know_array_class(ModuleState *state);

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

/* Whether the argument is seen to be a number, whose value the launch copies: the object itself is not needed
 * anymore. False, too, for what is not of the kind that was seen last at this position. */
static inline bool launch_args_is_value(const FunctionObject *function, Py_ssize_t position,
                                        PyObject *argument)
{
    if (position >= KERNEL_ARGS_STACK_COUNT) return false;
    uint8_t hint = atomic_load_explicit(&function->hints[position], memory_order_relaxed);
    const ArgumentKind *kind = &launch_args_kinds(function->state)[hint];
    return kind->type == Py_TYPE(argument) && kind->how == ARGUMENT_VALUE;
}

/* Until an argument at this position has been looked at, none is taken for one of a kind that was. */
void launch_args_expect_none(FunctionObject *function, Py_ssize_t position);

/* False with LogicError when the launch is captured: what the handlers do and the timer's events are not. */
bool launch_is_eager(ModuleState *state, CUstream stream, bool timed);

/* Copies the values one after another with their natural alignment. Returns the bytes, or (size_t)-1 when
 * they are more than `capacity`. */
size_t launch_args_flatten(const LaunchArgs *launch, unsigned char *bytes, size_t capacity);

/* An allocation as an argument of this function: LogicError (-1) when it was freed, or its context was. What
 * of another context's memory a kernel reaches is for the driver to say. */
int launch_args_check_allocation(FunctionObject *function, Py_ssize_t position,
                                 DeviceAllocationObject *allocation);

/* An argument that may be passed where an address is expected, as its address. -1 with TypeError naming the
 * position, or with LogicError as above. */
int launch_args_address(FunctionObject *function, Py_ssize_t position, PyObject *argument, CUstream stream,
                        CUdeviceptr *out);

#endif
