/* See marks.h. The end of a use is kept in a list, with the ticket of the last task that was submitted
 * before it, and is looked at before each kernel. So no task is queued for it, and no thread waits. */
#include "api/memory/marks.h"

#include <stdlib.h>

#include "api/memory/memory.h"
#include "api/stream/queue.h"

/* A block of the program's pool. It is in the list `ended` from the end of its use until kernels no longer
 * find it, or until it is used again. */
typedef struct Mark {
    struct Mark *next, *previous; /* in the list; both are the mark itself when it is in none */
    MemoryRange range; /* the block, as the driver has allocated it */
    uint64_t shown; /* its first bytes, which kernels find */
    uint64_t used; /* its first bytes, which are in use for the program */
    uint64_t last_ticket; /* of the last task that was submitted before the use ended */
} Mark;

static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;
static Mark ended = {.next = &ended, .previous = &ended}; /* the head of a circular list, the oldest first */
static _Atomic uint64_t oldest_ticket = UINT64_MAX; /* last_ticket of the first one; UINT64_MAX: none */

/* Whether the mark is in the list. Of its head: whether any is. */
static bool is_listed(const Mark *mark) { return mark->next != mark; }

static void set_oldest_locked(void)
{
    atomic_store(&oldest_ticket, is_listed(&ended) ? ended.next->last_ticket : UINT64_MAX);
}

static void unlink_locked(Mark *mark)
{
    mark->next->previous = mark->previous;
    mark->previous->next = mark->next;
    mark->next = mark->previous = mark;
}

/* Makes kernels find the first `size` bytes of the block. */
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
    bool fresh = !is_listed(mark); /* else kernels still find the bytes of the use before */
    mark->used = size;
    if (fresh || size > mark->shown) show_locked(mark, size);
    if (!fresh && size == mark->shown) unlink_locked(mark);
    set_oldest_locked();
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
    mark->last_ticket = queue_last_ticket();
    mark->next = &ended;
    mark->previous = ended.previous;
    mark->previous->next = ended.previous = mark;
    set_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
}

void marks_drop(void *opaque)
{
    Mark *mark = opaque;
    if (!mark) return;
    pthread_mutex_lock(&marks_lock);
    unlink_locked(mark);
    set_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
    free(mark);
}

/* Whether all work that the context had when the use ended is done. */
static bool is_over(const Mark *mark)
{
    Context *owner = context_find(mark->range.owner);
    bool over = !owner || queue_done_ticket(owner) >= mark->last_ticket;
    if (owner) context_put(owner);
    return over;
}

void marks_settle(cuuint64_t ticket)
{
    if (atomic_load_explicit(&oldest_ticket, memory_order_acquire) >= ticket) return;
    pthread_mutex_lock(&marks_lock);
    while (is_listed(&ended) && ended.next->last_ticket < ticket && is_over(ended.next)) {
        Mark *mark = ended.next;
        unlink_locked(mark);
        show_locked(mark, mark->used);
    }
    set_oldest_locked();
    pthread_mutex_unlock(&marks_lock);
}

void marks_host_writes(CUdeviceptr address, size_t size)
{
    MemoryRange range;
    if (driver_check() == CUDA_SUCCESS && memory_map_find_for_call(driver_memory(), address, size, &range))
        memory_map_written(driver_memory(), address, size);
}
