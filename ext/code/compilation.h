/* A compilation by NVRTC that a signal can end.
 *
 * The main thread, where Python runs signal handlers, starts a thread that compiles, and waits for it in
 * slices. When a handler raises, the compilation is abandoned: the compiler is asked to stop where it can
 * (CUDA 12.8), its result is dropped, and the texts that it reads live until it has returned.
 */
#ifndef EXT_CODE_COMPILATION_H
#define EXT_CODE_COMPILATION_H

#include <pthread.h>

#include "core/nvrtc_table.h"
#include "ext/base/ext.h"

/* Strings of a job. `owner`, a list, keeps the bytes objects that they point into. */
typedef struct StringList {
    PyObject *owner;
    const char **strings; /* owned */
    int count;
} StringList;

typedef struct JobTexts {
    PyObject *owner; /* keeps the source and its name */
    StringList options, expressions;
} JobTexts;

typedef struct Compilation {
    struct Compilation *next;                   /* in ModuleState.left */
    void (*release)(struct Compilation *self);  /* frees it with what it holds, under the GIL */
    PyObject *library;                          /* a reference, keeps the table */
    const NvrtcTable *table;
    JobTexts texts;                             /* the strings that `job` points to */
    NvrtcJob job;
    NvrtcProduct product;
    bool compiled;                              /* result of nvrtc_compile() */

    /* Of a compilation in a thread of its own: */
    atomic_bool abandoned;                      /* no thread waits anymore: the compiler is to stop */
    pthread_t thread;
    pthread_mutex_t lock;                       /* guards `over` and `compiled` */
    pthread_cond_t ended;                       /* signaled when `over` is set */
    bool over;
} Compilation;

/* Compiles, without the GIL; the result is in `compiled` and `product`. -1 with an exception when a signal
 * ended the wait: then the compilation does not belong to the caller anymore. */
int compilation_run(ModuleState *state, Compilation *compilation);

/* At exit: waits for the abandoned compilations, as a compiler must not run while its library is shut down.
 */
void compilation_finish(ModuleState *state);

#endif
