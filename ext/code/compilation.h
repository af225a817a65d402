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

/* Strings of a job. `owner` keeps the bytes objects that they point into. */
typedef struct StringList {
    PyObject *owner;
    const char **strings;
    int count;
} StringList;

typedef struct JobTexts {
    PyObject *owner;
    StringList options, expressions;
} JobTexts;

typedef struct Compilation {
    struct Compilation *next;                   /* in ModuleState.left */
    void (*release)(struct Compilation *self);  /* frees it with what it holds, under the GIL */
    PyObject *library;                          /* a reference, keeps the table */
    const NvrtcTable *table;
    JobTexts texts;
    NvrtcJob job;
    NvrtcProduct product;
    bool compiled;

    atomic_bool abandoned;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
} Compilation;

/* Compiles, without the GIL. -1 with an exception when a signal ended it: then the compilation does not
 * belong to the caller anymore. */
int compilation_run(ModuleState *state, Compilation *compilation);

/* At exit: waits for the abandoned compilations, as a compiler must not run while its library is shut down.
 */
void compilation_finish(ModuleState *state);

#endif
