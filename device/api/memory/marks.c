/* See marks.h. Nothing is queued for the end of a use: it is kept with the ticket of the last work before it,
 * and looked at before kernels. So it is not queued, and no thread waits. */
#include "api/memory/marks.h"

#include <stdlib.h>

#include "api/memory/memory.h"
#include "api/stream/queue.h"

typedef struct Mark {
    struct Mark *next, *previous; /* of those that wait, the oldest first; itself: it does not wait */
    MemoryRange range; /* as it was made */
    uint64_t shown; /* bytes that kernels find */
    uint64_t used; /* bytes in use as calls see it */
    uint64_t given; /* the last work before the last end */
} Mark;

static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;
static Mark waiting = {.next = &waiting, .previous = &waiting};
static _Atomic uint64_t oldest = UINT64_MAX; /* `given` of the first that waits */

static bool waits(const Mark *mark) { return mark->next != mark; }

static void note_oldest_locked(void)
{
    atomic_store(&oldest, waits(&waiting) ? waiting.next->given : UINT64_MAX);
}

static void unlink_locked(Mark *mark)
{
    mark->next->previous = mark->previous;
    mark->previous->next = mark->next;
    mark->next = mark->previous = mark;
}

static void show_locked(Mark *mark, uint64_t size)
{
    if (mark->shown != size) memory_map_show(driver_memory(), &mark->range, size);
    mark->shown = size;
}

void *marks_make(CUdeviceptr allocation)
{
    Mark *mark = driver_check() == CUDA_SUCCESS ? calloc(1, sizeof *mark) : NULL;
    if (!mark) return NULL;
    mark->next = mark->previous = mark;
    if (memory_map_mark(driver_memory(), allocation, &mark->range)) {
        mark->shown = mark->range.size;
        return mark;
    }
    free(mark);
    return NULL;
}

void marks_use(void *opaque, size_t size)
{
    Mark *mark = opaque;
    if (!mark) return;
    pthread_mutex_lock(&marks_lock);
    bool fresh = !waits(mark);
    mark->used = size;
    if (fresh || size > mark->shown) show_locked(mark, size);
    if (!fresh && size == mark->shown) unlink_locked(mark);
    note_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
    if (fresh && mark->range.kind == MEMORY_DEVICE)
        memory_map_renewed(driver_memory(), mark->range.base, size);
}

void marks_end(void *opaque)
{
    Mark *mark = opaque;
    if (!mark) return;
    pthread_mutex_lock(&marks_lock);
    unlink_locked(mark);
    mark->used = 0;
    mark->given = queue_given();
    mark->next = &waiting;
    mark->previous = waiting.previous;
    mark->previous->next = waiting.previous = mark;
    note_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
}

void marks_drop(void *opaque)
{
    Mark *mark = opaque;
    if (!mark) return;
    pthread_mutex_lock(&marks_lock);
    unlink_locked(mark);
    note_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
    free(mark);
}

/* Whether all that was queued before the end is done. */
static bool is_over(const Mark *mark)
{
    Context *owner = context_find(mark->range.owner);
    bool over = !owner || queue_done(owner) >= mark->given;
    if (owner) context_put(owner);
    return over;
}

void marks_settle(cuuint64_t ticket)
{
    if (atomic_load_explicit(&oldest, memory_order_acquire) >= ticket) return;
    pthread_mutex_lock(&marks_lock);
    while (waits(&waiting) && waiting.next->given < ticket && is_over(waiting.next)) {
        Mark *mark = waiting.next;
        unlink_locked(mark);
        show_locked(mark, mark->used);
    }
    note_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
}

void marks_host_writes(CUdeviceptr address, size_t size)
{
    MemoryRange range;
    if (driver_check() == CUDA_SUCCESS && memory_map_find_for_call(driver_memory(), address, size, &range))
        memory_map_written(driver_memory(), address, size);
}
