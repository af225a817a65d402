/* See compilation.h. */
#include "ext/code/compilation.h"

#include <signal.h>
#include <time.h>

#include "core/poll.h"
#include "ext/base/wait.h"

enum { STACK_BYTES = 8 << 20 }; /* as a main thread usually has */

static void *thread_main(void *argument)
{
    Compilation *self = argument;
    bool compiled = nvrtc_compile(self->table, &self->job, &self->product);
    pthread_mutex_lock(&self->lock);
    self->compiled = compiled;
    self->over = true;
    pthread_cond_signal(&self->ended);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void make_locks(Compilation *self)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void destroy_locks(Compilation *self)
{
    pthread_cond_destroy(&self->ended);
    pthread_mutex_destroy(&self->lock);
}

/* Starts a thread that compiles, blocks all signals and has STACK_BYTES of stack. False when the system gives
 * none. */
static bool start_thread(Compilation *self)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes)) return false;
    make_locks(self);
    self->job.abandoned = &self->abandoned;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&self->thread, &attributes, thread_main, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!started) destroy_locks(self);
    return started;
}

/* Waits until the compilation is over, but not longer than this. True when it is over. */
static bool is_over_within(Compilation *self, uint64_t microseconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t nanoseconds = (uint64_t)end.tv_nsec + microseconds % 1000000 * 1000;
    end.tv_sec += (time_t)(microseconds / 1000000 + nanoseconds / 1000000000);
    end.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_mutex_lock(&self->lock);
    while (!self->over && pthread_cond_timedwait(&self->ended, &self->lock, &end) == 0) continue;
    bool over = self->over;
    pthread_mutex_unlock(&self->lock);
    return over;
}

static void join_thread(Compilation *self)
{
    pthread_join(self->thread, NULL);
    destroy_locks(self);
}

/* Frees the abandoned compilations that are over, after waiting for each at most so many microseconds. Only
 * the main thread calls this. */
static void free_finished(ModuleState *state, uint64_t microseconds)
{
    for (Compilation **link = &state->left; *link;) {
        Compilation *self = *link;
        bool over;
        WITHOUT_GIL(over = is_over_within(self, microseconds));
        if (!over) {
            link = &self->next;
            continue;
        }
        *link = self->next;
        join_thread(self);
        self->release(self);
    }
}

void compilation_finish(ModuleState *state)
{
    while (state->left && wait_is_interruptible(state)) free_finished(state, POLL_SLICE_MICROSECONDS);
}

/* Waits for the thread. -1 with an exception when a signal's handler raised: the compilation is abandoned,
 * and ModuleState.left owns it. */
static int wait_for(ModuleState *state, Compilation *self)
{
    bool over = false;
    while (!over) {
        WITHOUT_GIL(over = is_over_within(self, POLL_SLICE_MICROSECONDS));
        if (over || PyErr_CheckSignals() == 0) continue;
        atomic_store(&self->abandoned, true);
        self->next = state->left;
        state->left = self;
        return -1;
    }
    join_thread(self);
    return 0;
}

int compilation_run(ModuleState *state, Compilation *self)
{
    bool in_thread = wait_is_interruptible(state);
    if (in_thread) free_finished(state, 0);
    if (in_thread && start_thread(self)) return wait_for(state, self);
    self->job.abandoned = NULL;
    WITHOUT_GIL(self->compiled = nvrtc_compile(self->table, &self->job, &self->product));
    return 0;
}
