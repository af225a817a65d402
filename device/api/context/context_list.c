/* The list of all contexts that a handle may name: the live ones, and those that were closed last, so that
 * their handles give CUDA_ERROR_CONTEXT_IS_DESTROYED.
 *
 * A thread that uses a context which is not on its own stack holds a reference. A context is taken off the
 * list and freed when it is closed and has no references. Both are checked under the list's lock, which is
 * also the only place where a context may be read without a reference.
 */
#include <stdlib.h>

#include "api/context/upcalls.h"

enum { DEAD_CONTEXTS = 64 };     /* closed contexts that stay in the list; above it the oldest are freed */

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_closed = PTHREAD_COND_INITIALIZER;
static Context *contexts;        /* the newest first */
static unsigned dead_contexts;   /* the closed ones in the list, without primary contexts, which stay */

unsigned long long context_new_id(void)
{
    static _Atomic unsigned long long last;
    return atomic_fetch_add(&last, 1) + 1;
}

void context_enlist(Context *context)
{
    pthread_mutex_lock(&contexts_lock);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&contexts_lock);
}

Context *context_find(const void *handle)
{
    pthread_mutex_lock(&contexts_lock);
    Context *context = contexts;
    while (context && (const void *)context != handle) context = context->next;
    if (context) context_retain(context);
    pthread_mutex_unlock(&contexts_lock);
    return context;
}

Context *context_find_derived(const Context *base)
{
    pthread_mutex_lock(&contexts_lock);
    Context *derived = contexts;
    while (derived && (derived->base != base || !atomic_load(&derived->live))) derived = derived->next;
    if (derived) context_retain(derived);
    pthread_mutex_unlock(&contexts_lock);
    return derived;
}

/* The next live context of the list after `before` (NULL: the first), with a reference. Puts the reference to
 * `before`, which kept that in the list. */
static Context *next_live(Context *before)
{
    pthread_mutex_lock(&contexts_lock);
    Context *context = before ? before->next : contexts;
    while (context && !atomic_load(&context->live)) context = context->next;
    if (context) context_retain(context);
    pthread_mutex_unlock(&contexts_lock);
    if (before) context_put(before);
    return context;
}

void context_each_live(void (*act)(Context *context))
{
    for (Context *context = NULL; (context = next_live(context)) != NULL;) act(context);
}

void context_each_busy(void (*act)(Context *context))
{
    for (Context *context = NULL; (context = next_live(context)) != NULL;)
        if (queue_context_busy(context)) act(context);
}

/* The link to the oldest context that may be freed; NULL if there is none. */
static Context **oldest_dead_locked(void)
{
    Context **oldest = NULL;
    for (Context **link = &contexts; *link; link = &(*link)->next)
        if (!(*link)->primary && atomic_load(&(*link)->closed) && !atomic_load(&(*link)->users))
            oldest = link;
    return oldest;
}

void context_set_closed(Context *context)
{
    Context *unlinked = NULL, **oldest;
    pthread_mutex_lock(&contexts_lock);
    atomic_store(&context->closed, true);
    if (!context->primary) dead_contexts++;
    for (; dead_contexts > DEAD_CONTEXTS && (oldest = oldest_dead_locked()) != NULL; dead_contexts--) {
        Context *dead = *oldest;
        *oldest = dead->next;
        dead->next = unlinked;
        unlinked = dead;
    }
    pthread_cond_broadcast(&one_closed);
    pthread_mutex_unlock(&contexts_lock);
    for (Context *next; unlinked; unlinked = next) {
        next = unlinked->next;
        context_free(unlinked);
    }
}

void context_await_closed(const Context *context)
{
    pthread_mutex_lock(&contexts_lock);
    while (!atomic_load(&context->closed) && !atomic_load(&context->live))
        pthread_cond_wait(&one_closed, &contexts_lock);
    pthread_mutex_unlock(&contexts_lock);
}
