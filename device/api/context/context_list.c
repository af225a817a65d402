/* The list of all contexts that handles may name: the living, and the last that died.
 *
 * A thread that uses a context not on its own stack holds a reference. A context is forgotten, and its memory
 * freed when its close is over and there are no references: both are checked under the list's lock, the
 * only place where a context may be looked up without a reference.
 */
#include <stdlib.h>

#include "api/context/upcalls.h"

enum { DEAD_CONTEXTS = 64 };     /* that many are known as destroyed; then the oldest are forgotten */

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_closed = PTHREAD_COND_INITIALIZER;
static Context *contexts;        /* the newest first */
static unsigned dead_contexts;   /* of them, those that are not primary ones */

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

void context_each_busy(void (*act)(Context *context))
{
    for (Context *context = NULL; (context = next_live(context)) != NULL;)
        if (queue_context_busy(context)) act(context);
}

/* The link to the oldest context that may be forgotten; NULL when there is none. */
static Context **oldest_dead_locked(void)
{
    Context **oldest = NULL;
    for (Context **link = &contexts; *link; link = &(*link)->next)
        if (!(*link)->primary && atomic_load(&(*link)->closed) && !atomic_load(&(*link)->users))
            oldest = link;
    return oldest;
}

void context_closed(Context *context)
{
    Context *forgotten = NULL, **oldest;
    pthread_mutex_lock(&contexts_lock);
    atomic_store(&context->closed, true);
    if (!context->primary) dead_contexts++;
    for (; dead_contexts > DEAD_CONTEXTS && (oldest = oldest_dead_locked()) != NULL; dead_contexts--) {
        Context *dead = *oldest;
        *oldest = dead->next;
        dead->next = forgotten;
        forgotten = dead;
    }
    pthread_cond_broadcast(&one_closed);
    pthread_mutex_unlock(&contexts_lock);
    for (Context *next; forgotten; forgotten = next) {
        next = forgotten->next;
        context_free(forgotten);
    }
}

void context_await_closed(const Context *context)
{
    pthread_mutex_lock(&contexts_lock);
    while (!atomic_load(&context->closed) && !atomic_load(&context->live))
        pthread_cond_wait(&one_closed, &contexts_lock);
    pthread_mutex_unlock(&contexts_lock);
}
