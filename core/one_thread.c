/* See one_thread.h. */
#include "core/one_thread.h"

#include <pthread.h>
#include <signal.h>

/* Lives on the stack of the thread that waits for it. */
typedef struct Job {
    struct Job *next;
    CUcontext context;
    CUresult (*call)(void *data);
    void *data;
    CUresult result;
    bool done;
} Job;

/* Per process, as the driver is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static Job *first, **last = &first;
static bool started;

IN_CALL static CUresult run_job(const Job *job)
{
    CUresult result = driver.cuCtxSetCurrent(job->context);
    if (result == CUDA_SUCCESS) result = job->call(job->data);
    driver.cuCtxSetCurrent(NULL); /* which may be destroyed before the next call */
    return result;
}

IN_CALL static void *serve(void *nothing)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first) pthread_cond_wait(&posted, &lock);
        Job *job = first;
        first = job->next;
        if (!first) last = &first;
        pthread_mutex_unlock(&lock);
        CUresult result = run_job(job);
        pthread_mutex_lock(&lock);
        job->result = result;
        job->done = true;
        pthread_cond_broadcast(&finished);
    }
    return nothing;
}

/* Signals are handled by the program's threads. */
static bool start_locked(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (started) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

IN_CALL CUresult one_thread_run(CUcontext context, CUresult (*call)(void *data), void *data)
{
    Job job = {.context = context, .call = call, .data = data};
    pthread_mutex_lock(&lock);
    if (!start_locked()) {
        pthread_mutex_unlock(&lock);
        return call(data);
    }
    *last = &job;
    last = &job.next;
    pthread_cond_signal(&posted);
    while (!job.done) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    return job.result;
}
