/* The registry of live objects: a hash table of addresses under a reader-writer lock. */
#include <stdlib.h>
#include <string.h>

#include "api/context/context.h"

enum { FIRST_BUCKETS = 1024, GRAVES = 256 };

static pthread_rwlock_t registry_lock = PTHREAD_RWLOCK_INITIALIZER;
static Object **buckets;
static size_t bucket_count, object_total;
static pthread_mutex_t grave_lock = PTHREAD_MUTEX_INITIALIZER;
static Object
    *graves[GRAVES]; /* the objects that died last: freed later, so that their addresses are not used
                                * again at once */
static unsigned grave_next;

/* The index of the address's bucket among `count`, a power of two. */
static size_t bucket_of(const void *address, size_t count)
{
    uint64_t key = (uint64_t)(uintptr_t)address >> 4;
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (count - 1);
}

/* Doubles the table when there is an object for each bucket. False only if there is no table at all: one that
 * cannot grow is used as it is. */
static bool grow_locked(void)
{
    if (object_total < bucket_count) return true;
    size_t count = bucket_count ? 2 * bucket_count : FIRST_BUCKETS;
    Object **table = calloc(count, sizeof *table);
    if (!table) return bucket_count > 0;
    for (size_t b = 0; b < bucket_count; b++)
        for (Object *object = buckets[b], *next; object; object = next) {
            next = object->chain;
            size_t home = bucket_of(object, count);
            object->chain = table[home];
            table[home] = object;
        }
    free(buckets);
    buckets = table;
    bucket_count = count;
    return true;
}

void *object_new(ObjectKind kind, size_t size, Context *context, void (*release)(Object *self))
{
    Object *object = calloc(1, size);
    if (!object) return NULL;
    object->kind = kind;
    object->context = context ? context_retain(context) : NULL;
    object->life = context ? atomic_load(&context->id) : 0;
    object->release = release;
    atomic_init(&object->references, 1);
    return object;
}

bool object_is_of(const Object *object, const Context *context)
{
    return object->context == context && object->life == atomic_load(&context->id);
}

bool object_context_is_live(const Object *object)
{
    return atomic_load(&object->context->live) && object_is_of(object, object->context);
}

/* A closing context clears `live` before it retires its objects, so no object can be published after that. */
CUresult object_publish(Object *object)
{
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&registry_lock);
    if (object->context && !object_context_is_live(object))
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else if (!grow_locked())
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) {
        size_t home = bucket_of(object, bucket_count);
        object->chain = buckets[home];
        buckets[home] = object;
        object->live = true;
        object_total++;
        atomic_fetch_add(&object->references, 1);
    }
    pthread_rwlock_unlock(&registry_lock);
    return result;
}

void *object_get(const void *handle, ObjectKind kind)
{
    Object *found = NULL;
    if (!handle) return NULL;
    pthread_rwlock_rdlock(&registry_lock);
    if (bucket_count)
        for (found = buckets[bucket_of(handle, bucket_count)]; found && (const void *)found != handle;)
            found = found->chain;
    if (found && found->kind != kind) found = NULL;
    if (found) atomic_fetch_add_explicit(&found->references, 1, memory_order_relaxed);
    pthread_rwlock_unlock(&registry_lock);
    return found;
}

Object *object_hold(Object *object)
{
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}

void object_put(Object *object)
{
    if (!object || atomic_fetch_sub(&object->references, 1) != 1) return;
    if (object->release) object->release(object);
    if (object->context) context_put(object->context);
    pthread_mutex_lock(&grave_lock);
    Object **grave = &graves[grave_next++ % GRAVES], *old = *grave;
    *grave = object;
    pthread_mutex_unlock(&grave_lock);
    free(old);
}

/* Takes the object out of its bucket; false if it is in none. The registry's reference stays with the
 * caller. */
static bool unlink_locked(Object *object)
{
    if (!object->live) return false;
    Object **link = &buckets[bucket_of(object, bucket_count)];
    while (*link != object) link = &(*link)->chain;
    *link = object->chain;
    object->live = false;
    object_total--;
    return true;
}

bool object_retire(Object *object)
{
    pthread_rwlock_wrlock(&registry_lock);
    bool mine = unlink_locked(object);
    pthread_rwlock_unlock(&registry_lock);
    if (mine) object_put(object);
    return mine;
}

/* Some live object of the context, with a reference. */
static Object *any_of(const Context *context)
{
    Object *found = NULL;
    pthread_rwlock_rdlock(&registry_lock);
    for (size_t b = 0; b < bucket_count && !found; b++)
        for (found = buckets[b]; found && found->context != context;) found = found->chain;
    if (found) object_hold(found);
    pthread_rwlock_unlock(&registry_lock);
    return found;
}

void object_retire_context(const Context *context)
{
    for (Object *object; (object = any_of(context)) != NULL; object_put(object)) object_retire(object);
}
