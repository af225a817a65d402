/* Kernels: the Function object, what it knows about its parameters, and a launch being put together. */
#ifndef EXT_LAUNCH_FUNCTION_H
#define EXT_LAUNCH_FUNCTION_H

#include "core/kernel_layout.h"
#include "core/launch_shape.h"
#include "core/pack_format.h"
#include "ext/context/module_object.h"

/* Where and how one value of a prepared call is packed. */
typedef struct PreparedSlot {
    const PackCode *code;
    uint32_t offset, size;      /* in the buffer of arguments */
} PreparedSlot;

/* The result of prepare(): a slot for each value of a prepared call. A call in progress holds it while it
 * reads its arguments, as that may run Python code that prepares the function again. */
typedef struct Prepared {
    atomic_long holders; /* by gil_count */
    Py_ssize_t count;
    size_t bytes;
    bool by_parameter; /* slot i is the whole of parameter i */
    bool strided; /* the kernel takes strides as arguments: non-contiguous views are allowed */
    PreparedSlot slots[];
} Prepared;

/* The stateful interface of the first CUDA versions: what it sets stays for the next launch. */
typedef struct StatefulLaunch {
    unsigned block[3], shared_bytes;
    size_t size; /* bytes of parameters */
    bool size_set; /* `size` was set by param_set_size(), and does not grow */
    unsigned char bytes[KERNEL_ARGS_STACK_BYTES];
} StatefulLaunch;

typedef struct FunctionObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    ModuleState *state;
    CodeModuleObject *module; /* keeps the code loaded */
    ContextObject *context; /* the module's, borrowed */
    CUfunction handle;
    PyObject *name;
    KernelLayout layout; /* not changed after creation */
    struct ParameterType *types; /* owned: of its parameters, or NULL (ext/launch/types.h) */
    PyObject *source_reader; /* owned: the callable given to _note_types(); or NULL */
    PyObject *source_types; /* owned: what it returned; NULL until it was called */
    _Atomic(uint8_t) hints[KERNEL_ARGS_STACK_COUNT]; /* the kind of argument seen last at each position */
    Prepared *prepared; /* held; NULL before prepare() */
    PyObject *arg_format, *texrefs; /* as prepare() was given them; NULL before */
    StatefulLaunch *stateful; /* owned; NULL until used */
    PyObject *attributes; /* __dict__ */
    PyObject *weak_references;
} FunctionObject;

static inline FunctionObject *function_cast(PyObject *object) { return (FunctionObject *)object; }

/* A new Function for this handle. NULL with an exception. */
PyObject *function_new(ModuleState *state, CodeModuleObject *module, CUfunction handle, PyObject *name);

/* The name for messages, never NULL. */
const char *function_name(FunctionObject *function);

/* What a launch asks for beyond its shape (ext/launch/attributes.c): the keywords as given, each may be NULL,
 * and what the driver gets. */
typedef struct LaunchExtraKeywords {
    PyObject *cooperative, *cluster, *programmatic, *priority, *carveout;
} LaunchExtraKeywords;

typedef struct LaunchExtras {
    unsigned count;
    CUlaunchAttribute list[5];
} LaunchExtras;

/* The member of *given for the keyword of this name. NULL for other names. */
PyObject **launch_extra_slot(ModuleState *state, LaunchExtraKeywords *given, PyObject *name);

/* *out: the attributes for these keywords. -1 with an exception. */
int launch_extras_read(const LaunchExtraKeywords *given, const LaunchShape *shape, LaunchExtras *out);

CUresult launch_extras_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                              CUstream stream, void **params, void **extra);

/* Writes why the driver refused a launch because of these extras. False when the reason is another one. */
bool launch_extras_explain(FunctionObject *function, const LaunchShape *shape, CUstream stream,
                           CUresult result, char *text, size_t size);

/* ext/launch/clusters.c: as launch_extras_explain(), for the sizes of clusters. extras may be NULL. */
bool launch_cluster_explain(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                            CUresult result, char *text, size_t size);
extern const char max_active_clusters_doc[], max_potential_cluster_size_doc[];
PyObject *max_active_clusters(PyObject *self, FAST_PARAMETERS);
PyObject *max_potential_cluster_size(PyObject *self, FAST_PARAMETERS);

/* Calls the driver's launch function. -1 with an exception, which says which part of the shape is to blame.
 * Arguments are either one pointer each (params) or one buffer (extra). extras may be NULL. */
int function_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                    CUstream stream, void **params, void **extra);

/* The exception of a launch that the driver refused in this call. extras may be NULL. */
void function_raise_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                           CUstream stream, CUresult result, const char *routine);

/* As function_launch(), with the arguments in one buffer of `size` bytes. */
int function_launch_buffer(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                           CUstream stream, void *bytes, size_t size);

/* Adds the arguments to the exception that is set, if it is a driver's error of the launch call. */
void function_name_arguments(FunctionObject *function, PyObject *const *args, Py_ssize_t count);

/* Two events around a launch, to time it. */
typedef struct LaunchTimer {
    CUevent start, stop;
} LaunchTimer;

/* launch_timer_start() makes the events and records the first, launch_timer_stop() records the second: -1
 * with an exception. After launch_timer_start() has succeeded the caller calls launch_timer_free(). */
int launch_timer_start(ModuleState *state, LaunchTimer *timer, CUstream stream);
int launch_timer_stop(ModuleState *state, LaunchTimer *timer, CUstream stream);
/* Waits for the second event. Seconds, or -1 with an exception. */
double launch_timer_read(ModuleState *state, LaunchTimer *timer);
void launch_timer_free(ModuleState *state, LaunchTimer *timer);

/* Waits for the stream. -1 with an exception. */
int launch_wait(ModuleState *state, CUstream stream);

/* launch.c: checks the argument texrefs=. -1 with TypeError or LogicError when an element is no texture
 * reference of the function's module or, for a launch, is not bound. NULL and None are empty. */
int launch_check_texrefs(FunctionObject *function, PyObject *texrefs, bool for_launch);

/* launch.c: Function.__call__. */
PyObject *launch_vectorcall(PyObject *callable, PyObject *const *args, size_t count_flag,
                            PyObject *keyword_names);

/* pooled_note() for the arguments and for the memory under the module's textures: a launch on this stream is
 * about to use them. -1 with an exception. */
int launch_note(FunctionObject *function, PyObject *const *args, Py_ssize_t count, PyObject *stream,
                CUstream handle);

/* convert_block(), convert_grid() (NULL: one block) and convert_stream(), faster for the usual values. */
int launch_read_block(PyObject *value, unsigned out[3]);
int launch_read_grid(PyObject *value, unsigned out[3]);
int launch_read_stream(ModuleState *state, PyObject *value, CUstream *out);

/* prepared.c */
extern const char prepare_doc[];
PyObject *prepared_prepare(PyObject *self, FAST_PARAMETERS);
PyObject *prepared_prepare_strided(PyObject *self, FAST_PARAMETERS);
PyObject *prepared_call(PyObject *self, FAST_PARAMETERS);
PyObject *prepared_async_call(PyObject *self, FAST_PARAMETERS);
PyObject *prepared_timed_call(PyObject *self, FAST_PARAMETERS);
void prepared_drop(Prepared *prepared); /* ends a hold; NULL is allowed */
/* Launches the prepared function with these values on this stream (NULL, None: the current one), as
 * prepared_async_call does. -1 with an exception. */
int prepared_launch(FunctionObject *function, const LaunchShape *shape, PyObject *stream,
                    PyObject *const *values, Py_ssize_t count);

#endif
