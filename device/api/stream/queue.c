/* The streams' queues: submission, dependencies, the worker, and waiting. See queue.h. */
#define _GNU_SOURCE
#include "api/stream/queue.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "api/context/timeout.h"
#include "api/stream/capture.h"

enum {
    LEND_NANOSECONDS = 30000000, /* a thread with a timeout runs a task so long; then the worker wants it */
    CANCEL_NANOSECONDS = 1000000000, /* a cancellation waits so long for kernels to end */
    BRIEF_SLEEP_NANOSECONDS = 20000,
    BRIEF_SLEEPS = 100, /* of a worker, before it waits for a signal */
    WORK_SPINS = 100, /* polls of a worker, before its brief sleeps */
    WAIT_SPINS = 2000, /* polls of a thread that waits for another one's task, before it sleeps */
    MAX_PENDING = 1024 /* unfinished tasks of a stream: with more queue_submit() waits */
};

/* Held for a short time only: a mutex that spins before it sleeps is the best, if there is one. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
static pthread_mutex_t queue_lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
#else
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

/* The last tickets, of all threads (changed under the lock) and of this one. A wait for a context is a wait
 * for all its tasks with tickets up to the last. */
static _Atomic uint64_t last_ticket;
static _Thread_local uint64_t thread_ticket;

static void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

uint64_t queue_last(const Stream *stream)
{
    return atomic_load_explicit(&stream->submitted, memory_order_acquire);
}

bool queue_reached(const Stream *stream, uint64_t number)
{
    return atomic_load_explicit(&stream->completed, memory_order_acquire) >= number;
}

static bool is_canceled(const Stream *stream) { return atomic_load(&stream->object.context->canceled); }

static bool has_failed(const Stream *stream)
{
    return is_canceled(stream) || context_error(stream->object.context);
}

/* Whether the stream's context was closed, so that a late task finds none of its resources. */
static bool is_over_locked(const Stream *stream)
{
    return stream->object.context->closing && !stream->listed;
}

static bool is_idle(const Stream *stream) { return queue_reached(stream, queue_last(stream)); }

static void make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void stream_release(Object *object)
{
    Stream *stream = (Stream *)object;
    pthread_cond_destroy(&stream->work);
    pthread_cond_destroy(&stream->done);
    for (int i = 0; i < STREAM_BARRIERS; i++) object_put((Object *)(void *)stream->after[i].stream);
    object_put((Object *)(void *)stream->green);
    free(stream->attributes);
}

static bool list_locked(Stream *stream)
{
    Context *context = stream->object.context;
    if (context->closing) return false;
    object_hold(OBJECT(stream));
    stream->listed = true;
    stream->next = context->streams;
    if (stream->next) stream->next->previous = stream;
    context->streams = stream;
    return true;
}

/* Takes the stream out of the list. True if it was in it: then the caller releases the list's reference. */
static bool unlist_locked(Stream *stream)
{
    Context *context = stream->object.context;
    if (!stream->listed) return false;
    stream->listed = false;
    if (stream->next) stream->next->previous = stream->previous;
    if (stream->previous)
        stream->previous->next = stream->next;
    else if (context->streams == stream)
        context->streams = stream->next;
    stream->next = stream->previous = NULL;
    return true;
}

static Stream *new_stream(Context *context, unsigned flags, int priority)
{
    Stream *stream = object_new(OBJECT_STREAM, sizeof *stream, context, stream_release);
    if (!stream) return NULL;
    stream->flags = flags;
    stream->priority = priority;
    stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    stream->id = atomic_fetch_add(&context->stream_count, 1) + 1;
    make_condition(&stream->work);
    make_condition(&stream->done);
    pthread_mutex_lock(&queue_lock);
    bool listed = list_locked(stream);
    pthread_mutex_unlock(&queue_lock);
    if (listed) return stream;
    PUT(stream);
    return NULL;
}

static Stream *barrier_of(Context *context)
{
    pthread_mutex_lock(&queue_lock);
    Stream *barrier = context->barrier;
    if (barrier) object_hold(OBJECT(barrier));
    pthread_mutex_unlock(&queue_lock);
    return barrier;
}

Stream *queue_barrier(Context *context)
{
    Stream *barrier = barrier_of(context),
           *made = barrier ? NULL : new_stream(context, CU_STREAM_NON_BLOCKING, 0);
    if (!made) return barrier;
    pthread_mutex_lock(&queue_lock);
    bool first = !context->barrier && !context->closing;
    if (first) context->barrier = made;
    pthread_mutex_unlock(&queue_lock);
    if (!first) queue_drop(made);
    return barrier_of(context);
}

/* The place for that barrier among those that the stream waits for; NULL when others have them all. */
static Dependency *barrier_place_locked(Stream *stream, const Stream *barrier)
{
    for (int i = 0; i < STREAM_BARRIERS; i++)
        if (!stream->after[i].stream || stream->after[i].stream == barrier) return &stream->after[i];
    return NULL;
}

/* The new reference goes to stream->after, or to queue_submit_wait where other barriers have the places. */
CUresult queue_begin_after(Stream *stream, Stream *barrier)
{
    Dependency place = {barrier, queue_last(barrier)};
    if (queue_reached(barrier, place.number)) return CUDA_SUCCESS;
    object_hold(OBJECT(barrier));
    pthread_mutex_lock(&queue_lock);
    Dependency *kept = barrier_place_locked(stream, barrier);
    bool had_reference = kept && kept->stream;
    if (kept) *kept = place;
    pthread_mutex_unlock(&queue_lock);
    if (!kept) return queue_submit_wait(stream, &place);
    if (had_reference) PUT(barrier);
    queue_note_wait(stream, &place);
    return CUDA_SUCCESS;
}

Stream *stream_new(Context *context, unsigned flags, int priority)
{
    Stream *stream = new_stream(context, flags, priority), *barrier = stream ? barrier_of(context) : NULL;
    CUresult result = barrier ? queue_begin_after(stream, barrier) : CUDA_SUCCESS;
    if (barrier) PUT(barrier);
    if (!result) return stream;
    queue_drop(stream);
    return NULL;
}

bool queue_open_context(Context *context)
{
    pthread_mutex_lock(&queue_lock);
    context->closing = false;
    pthread_mutex_unlock(&queue_lock);
    Stream *stream = stream_new(context, CU_STREAM_DEFAULT, 0);
    if (!stream) return false;
    stream->legacy = stream->standard = true;
    pthread_mutex_lock(&queue_lock);
    context->legacy = stream;
    pthread_mutex_unlock(&queue_lock);
    return true;
}

Stream *queue_legacy(Context *context)
{
    pthread_mutex_lock(&queue_lock);
    Stream *stream = context->legacy;
    if (stream) object_hold(OBJECT(stream));
    pthread_mutex_unlock(&queue_lock);
    return stream;
}

size_t queue_streams(Context *context, Stream **out, size_t capacity)
{
    size_t count = 0;
    pthread_mutex_lock(&queue_lock);
    for (Stream *stream = context->streams; stream; stream = stream->next, count++)
        if (count < capacity) {
            object_hold(OBJECT(stream));
            out[count] = stream;
        }
    pthread_mutex_unlock(&queue_lock);
    return count;
}

/* Whether a task of `stream` waits for what `other` has been given so far. */
static bool synchronizes_with(const Stream *stream, const Stream *other)
{
    if (stream == other || !stream->blocking || !other->blocking) return false;
    return (stream->legacy || other->legacy) && !is_idle(other);
}

static void free_task(Task *task)
{
    for (unsigned i = 0; i < task->dependency_count; i++) object_put(&task->dependencies[i].stream->object);
    free(task->dependencies);
    task->release(task);
}

/* Waits until a task of the stream is done. False if the time `until` (0: never) comes first. */
static bool sleep_locked(Stream *stream, uint64_t until)
{
    bool called = true;
    struct timespec end = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    stream->waiters++;
    if (until)
        called = !pthread_cond_timedwait(&stream->done, &queue_lock, &end);
    else
        pthread_cond_wait(&stream->done, &queue_lock);
    stream->waiters--;
    return called;
}

static void wait_number_locked(Stream *stream, uint64_t number)
{
    while (!queue_reached(stream, number)) sleep_locked(stream, 0);
}

/* Waits for the task's dependencies, not in a canceled context. False when the time `until` comes first. */
static bool wait_dependencies_locked(const Stream *stream, const Task *task, uint64_t until)
{
    for (unsigned i = 0; i < task->dependency_count; i++) {
        const Dependency *on = &task->dependencies[i];
        while (!queue_reached(on->stream, on->number) && !is_canceled(stream))
            if (!sleep_locked(on->stream, until)) return false;
    }
    return true;
}

static void call_worker_locked(Stream *stream);

/* The calling thread stops running the head, which is not done; the worker continues. */
static void leave_head_locked(Stream *stream)
{
    stream->running = stream->lent = false;
    if (stream->waiters) pthread_cond_broadcast(&stream->done);
    call_worker_locked(stream);
}

/* Runs the head of the queue, with the lock released meanwhile; nothing else takes a head away that is
 * `running`. False if the head is not done, because the time `until` came first. */
static bool run_head_locked(Stream *stream, uint64_t until)
{
    Task *task = stream->head;
    stream->running = true;
    stream->lent = until && stream->worker_started;
    atomic_fetch_and(&stream->stop, ~(uint32_t)GRID_LEAVE);
    if (!wait_dependencies_locked(stream, task, until)) {
        leave_head_locked(stream);
        return false;
    }
    bool runs = task->always || task->unfinished || !(is_over_locked(stream) || has_failed(stream));
    pthread_mutex_unlock(&queue_lock);
    if (runs) task->run(task, stream);
    pthread_mutex_lock(&queue_lock);
    if (task->unfinished) {
        leave_head_locked(stream);
        return false;
    }
    stream->head = task->next;
    if (!stream->head) stream->tail = NULL;
    stream->running = stream->lent = false;
    atomic_store_explicit(&stream->completed, task->number, memory_order_release);
    if (stream->waiters) pthread_cond_broadcast(&stream->done);
    bool gone = stream->closing && !stream->head && unlist_locked(stream);
    pthread_mutex_unlock(&queue_lock);
    free_task(task);
    if (gone) PUT(stream);
    pthread_mutex_lock(&queue_lock);
    return true;
}

static void sleep_briefly(void)
{
    struct timespec moment = {0, BRIEF_SLEEP_NANOSECONDS};
    nanosleep(&moment, NULL);
}

/* The worker waits for a task: it polls without the lock, then sleeps until it is signalled. */
static void await_work_locked(Stream *stream)
{
    pthread_mutex_unlock(&queue_lock);
    for (int i = 0; i < WORK_SPINS && is_idle(stream); i++) spin_pause();
    for (int i = 0; i < BRIEF_SLEEPS && is_idle(stream); i++) sleep_briefly();
    pthread_mutex_lock(&queue_lock);
    while (!stream->closing && is_idle(stream)) {
        stream->worker_asleep = true;
        pthread_cond_wait(&stream->work, &queue_lock);
        stream->worker_asleep = false;
    }
}

/* The worker waits while another thread runs the stream's tasks; brief sleeps cost that thread less than a
 * signal. If it has a timeout it is asked (GRID_LEAVE) to leave a task that takes long to the worker. */
static void await_runner_locked(Stream *stream)
{
    uint64_t number = stream->head->number, until = timeout_clock() + LEND_NANOSECONDS;
    pthread_mutex_unlock(&queue_lock);
    for (int i = 0; i < BRIEF_SLEEPS && !queue_reached(stream, number); i++) sleep_briefly();
    pthread_mutex_lock(&queue_lock);
    while (stream->running && !queue_reached(stream, number))
        if (!sleep_locked(stream, stream->lent ? until : 0)) {
            if (stream->lent) atomic_fetch_or(&stream->stop, GRID_LEAVE);
            until = timeout_clock() + LEND_NANOSECONDS;
        }
}

static void *worker_main(void *argument)
{
    Stream *stream = argument;
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* nanoseconds by which brief sleeps may be too long */
    pthread_mutex_lock(&queue_lock);
    for (;;) {
        if (stream->running)
            await_runner_locked(stream);
        else if (stream->head)
            run_head_locked(stream, 0);
        else if (stream->closing)
            break;
        else
            await_work_locked(stream);
    }
    stream->worker_started = false; /* a late task starts another */
    pthread_mutex_unlock(&queue_lock);
    PUT(stream);
    return NULL;
}

/* Starts a detached thread, which has a reference and takes no signals; false if the system has none. */
static bool start_worker(Stream *stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes)) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    object_hold(OBJECT(stream));
    bool started = !pthread_create(&thread, &attributes, worker_main, stream);
    if (!started) PUT(stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Wakes the stream's worker, or starts it, unless it runs. */
static void call_worker_locked(Stream *stream)
{
    if (stream->worker_asleep)
        pthread_cond_signal(&stream->work);
    else if (!stream->worker_started)
        stream->worker_started = start_worker(stream);
}

/* Adds a dependency to the task (its reference included); false if out of memory. */
static bool add_dependency(Task *task, Dependency dependency)
{
    size_t count = task->dependency_count;
    if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4 ...: the array is full */
        Dependency *array = realloc(task->dependencies, (count ? 2 * count : 1) * sizeof *array);
        if (!array) return false;
        task->dependencies = array;
    }
    task->dependencies[count] = dependency;
    task->dependency_count++;
    return true;
}

/* Adds a dependency to the task under the queue's lock, with a reference of its own. Without memory for it
 * the dependency is waited for here, with the lock released: then false. */
static bool depend_locked(Task *task, Dependency dependency)
{
    object_hold(OBJECT(dependency.stream));
    if (add_dependency(task, dependency)) return true;
    call_worker_locked(dependency.stream);
    wait_number_locked(dependency.stream, dependency.number);
    PUT(dependency.stream);
    return false;
}

/* The implicit synchronization with the legacy default stream, as dependencies. */
static void depend_on_legacy_locked(Stream *stream, Task *task)
{
    if (!stream->blocking) return;
    for (Stream *other = stream->object.context->streams; other; other = other->next) {
        if (!synchronizes_with(stream, other)) continue;
        if (depend_locked(task, (Dependency){other, queue_last(other)})) continue;
        depend_on_legacy_locked(stream, task); /* the list may have changed: look again */
        return;
    }
}

/* Makes the task wait for the barriers, which are released when no other barrier can come before it. */
static void depend_on_barriers_locked(Stream *stream, Task *task)
{
    for (int i = 0; i < STREAM_BARRIERS && stream->after[i].stream; i++)
        depend_locked(task, stream->after[i]);
    for (int i = 0; i < STREAM_BARRIERS && stream->after[i].stream; i++) {
        PUT(stream->after[i].stream);
        stream->after[i].stream = NULL;
    }
}

void queue_note_wait(Stream *stream, const Dependency *record)
{
    const Stream *other = record->stream;
    Waited now = {other->object.life, other->id, record->number};
    Waited *place = NULL;
    pthread_mutex_lock(&queue_lock);
    for (int i = 0; i < STREAM_WAITS && !place; i++)
        if (stream->waited[i].life == now.life && stream->waited[i].stream == now.stream)
            place = &stream->waited[i];
    if (!place) place = &stream->waited[stream->waited_next++ % STREAM_WAITS], *place = now;
    if (place->number < now.number) place->number = now.number;
    pthread_mutex_unlock(&queue_lock);
}

static bool waited_for_locked(const Stream *stream, const Stream *other, uint64_t number)
{
    for (int i = 0; i < STREAM_WAITS; i++) {
        const Waited *waited = &stream->waited[i];
        if (waited->life == other->object.life && waited->stream == other->id && waited->number >= number)
            return true;
    }
    return false;
}

/* Whether a task that has not run, up to `upto`, depends on that task of `other`. `id`: the search's. */
static bool depends_locked(Stream *stream, uint64_t upto, const Stream *other, uint64_t number, uint64_t id)
{
    uint64_t from = stream->search == id ? stream->searched : 0;
    if (from >= upto) return false;
    stream->search = id;
    stream->searched = upto;
    for (const Task *task = stream->head; task && task->number <= upto; task = task->next)
        for (unsigned d = 0; task->number > from && d < task->dependency_count; d++) {
            const Dependency *to = &task->dependencies[d];
            if (to->stream == other && to->number >= number) return true;
            if (depends_locked(to->stream, to->number, other, number, id)) return true;
        }
    return false;
}

bool queue_follows(Stream *stream, const Stream *other, uint64_t number)
{
    static uint64_t searches; /* numbers the searches; under the lock */
    bool implied = stream->object.context == other->object.context && stream->blocking && other->blocking
                   && (stream->legacy || other->legacy);
    if (stream == other || implied) return true;
    pthread_mutex_lock(&queue_lock);
    bool follows = waited_for_locked(stream, other, number)
                   || depends_locked(stream, queue_last(stream), other, number, ++searches);
    pthread_mutex_unlock(&queue_lock);
    return follows;
}

/* Whether this thread may run the head: without a worker always; else not a task that calls the program,
 * nor, if the thread has a timeout, one that may wait forever. */
static bool may_run_locked(const Stream *stream, uint64_t until)
{
    const Task *head = stream->head;
    if (stream->running || !head) return false;
    return !stream->worker_started || !(head->on_worker || (until && (head->endless || head->unfinished)));
}

/* Waits for the stream's tasks up to `number`, or runs them. False when the time `until` comes first. */
static bool wait_locked(Stream *stream, uint64_t number, uint64_t until)
{
    while (!queue_reached(stream, number)) {
        if (may_run_locked(stream, until)) {
            run_head_locked(stream, until);
            if (until && timeout_clock() >= until) return queue_reached(stream, number);
            continue;
        }
        if (!stream->running) call_worker_locked(stream);
        if (!sleep_locked(stream, until)) return queue_reached(stream, number);
    }
    return true;
}

static bool wait_until(Stream *stream, uint64_t number, uint64_t until)
{
    if (queue_reached(stream, number)) return true;
    pthread_mutex_lock(&queue_lock);
    bool other_runs = stream->running;
    bool reached = !other_runs && wait_locked(stream, number, until);
    pthread_mutex_unlock(&queue_lock);
    if (!other_runs) return reached;
    for (int i = 0; i < WAIT_SPINS && !queue_reached(stream, number); i++) spin_pause();
    pthread_mutex_lock(&queue_lock);
    reached = wait_locked(stream, number, until);
    pthread_mutex_unlock(&queue_lock);
    return reached;
}

bool queue_wait(Stream *stream, uint64_t number)
{
    return queue_reached(stream, number)
           || wait_until(stream, number, timeout_deadline(stream->object.context));
}

uint64_t queue_submit(Stream *stream, Task *task, const Dependency *dependency)
{
    bool keep = dependency && add_dependency(task, *dependency);
    if (dependency && !keep) {
        wait_until(dependency->stream, dependency->number, 0);
        PUT(dependency->stream);
    }
    pthread_mutex_lock(&queue_lock);
    depend_on_barriers_locked(stream, task);
    depend_on_legacy_locked(stream, task);
    task->next = NULL;
    task->number = queue_last(stream) + 1;
    task->ticket = thread_ticket = ++last_ticket;
    if (stream->tail)
        stream->tail->next = task;
    else
        stream->head = task;
    stream->tail = task;
    uint64_t number = task->number;
    atomic_store_explicit(&stream->submitted, number, memory_order_release);
    call_worker_locked(stream);
    bool no_worker = !stream->worker_started;
    pthread_mutex_unlock(&queue_lock);
    if (no_worker)
        wait_until(stream, number, 0);
    else if (!timeout_is_set() && number > MAX_PENDING && !queue_reached(stream, number - MAX_PENDING))
        wait_until(stream, number - MAX_PENDING, 0);
    return number;
}

/* A task that does nothing: what follows it in its stream waits for its dependency. */
static void run_nothing(Task *self, Stream *stream) { (void)self, (void)stream; }

static void free_nothing(Task *self) { free(self); }

CUresult queue_submit_wait(Stream *stream, const Dependency *place)
{
    queue_note_wait(stream, place);
    bool needless = place->stream == stream || queue_reached(place->stream, place->number);
    Task *task = needless ? NULL : calloc(1, sizeof *task);
    if (!task) {
        PUT(place->stream);
        return needless ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    task->run = run_nothing;
    task->release = free_nothing;
    queue_submit(stream, task, place);
    return CUDA_SUCCESS;
}

CUresult queue_wait_room(Stream *stream)
{
    uint64_t next = queue_last(stream) + 1;
    if (!timeout_is_set() || next <= MAX_PENDING) return CUDA_SUCCESS;
    return queue_wait(stream, next - MAX_PENDING) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* Whether the stream has unfinished tasks with tickets up to `ticket`. Then *number is the number of the
 * last of these tasks, or a later one if other streams were given tasks in between. */
static bool has_task_locked(const Stream *stream, uint64_t ticket, uint64_t *number)
{
    const Task *head = stream->head;
    if (!head || head->ticket > ticket) return false;
    uint64_t max = head->number + (ticket - head->ticket), last = queue_last(stream);
    *number = max < last ? max : last;
    return true;
}

cuuint64_t queue_take_thread_ticket(void)
{
    uint64_t ticket = thread_ticket;
    thread_ticket = 0;
    return ticket;
}

uint64_t queue_last_ticket(void) { return atomic_load(&last_ticket); }

/* A barrier stream whose tasks up to *number the next task of the stream would have to wait for, or NULL. */
static Stream *pending_barrier_locked(const Stream *stream, uint64_t *number)
{
    for (int i = 0; i < STREAM_BARRIERS; i++) {
        *number = stream->after[i].number;
        if (stream->after[i].stream && !queue_reached(stream->after[i].stream, *number))
            return stream->after[i].stream;
    }
    return NULL;
}

/* A stream, with a reference, whose tasks up to *number must be waited for by queue_wait_turn(); NULL: none.
 * Tasks with tickets above `ticket` do not count. */
static Stream *obstacle_locked(Stream *stream, bool barriers, uint64_t ticket, uint64_t *number)
{
    Stream *found = barriers ? pending_barrier_locked(stream, number) : NULL;
    if (!found && has_task_locked(stream, ticket, number)) found = stream;
    if (stream->blocking)
        for (Stream *other = stream->object.context->streams; other && !found; other = other->next)
            if (synchronizes_with(stream, other) && has_task_locked(other, ticket, number)) found = other;
    if (found) object_hold(OBJECT(found));
    return found;
}

bool queue_idle(Stream *stream, bool barriers)
{
    uint64_t number;
    pthread_mutex_lock(&queue_lock);
    bool idle = is_idle(stream) && !(barriers && pending_barrier_locked(stream, &number));
    if (idle && stream->blocking)
        for (const Stream *other = stream->object.context->streams; other && idle; other = other->next)
            idle = !synchronizes_with(stream, other);
    pthread_mutex_unlock(&queue_lock);
    return idle;
}

bool queue_wait_turn(Stream *stream, bool barriers)
{
    uint64_t number = 0, until = 0, ticket = queue_last_ticket();
    bool reached = true;
    while (reached) {
        pthread_mutex_lock(&queue_lock);
        Stream *obstacle = obstacle_locked(stream, barriers, ticket, &number);
        pthread_mutex_unlock(&queue_lock);
        if (!obstacle) break;
        if (!until) until = timeout_deadline(stream->object.context);
        reached = wait_until(obstacle, number, until);
        PUT(obstacle);
    }
    return reached;
}

static Stream *busy_stream(Context *context, uint64_t ticket, uint64_t *number)
{
    pthread_mutex_lock(&queue_lock);
    Stream *stream = context->streams;
    while (stream && !has_task_locked(stream, ticket, number)) stream = stream->next;
    if (stream) object_hold(OBJECT(stream));
    pthread_mutex_unlock(&queue_lock);
    return stream;
}

uint64_t queue_done_ticket(const Context *context)
{
    pthread_mutex_lock(&queue_lock);
    uint64_t done = last_ticket;
    for (const Stream *stream = context->streams; stream; stream = stream->next)
        if (stream->head && stream->head->ticket <= done) done = stream->head->ticket - 1;
    pthread_mutex_unlock(&queue_lock);
    return done;
}

bool queue_context_busy(Context *context)
{
    uint64_t number;
    Stream *stream = busy_stream(context, queue_last_ticket(), &number);
    if (stream) PUT(stream);
    return stream != NULL;
}

CUresult queue_wait_context(Context *context)
{
    CUresult refused = capture_check_thread();
    return refused ? refused : queue_wait_context_despite_capture(context);
}

CUresult queue_wait_context_despite_capture(Context *context)
{
    uint64_t number = 0, until = 0, ticket = queue_last_ticket();
    bool reached = true;
    for (Stream *stream; reached && (stream = busy_stream(context, ticket, &number)) != NULL; PUT(stream)) {
        if (!until) until = timeout_deadline(context);
        reached = wait_until(stream, number, until);
    }
    return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* Wakes the threads that wait for the tasks that this task depends on. */
static void call_waiters_locked(const Task *task)
{
    for (unsigned i = 0; i < task->dependency_count; i++)
        pthread_cond_broadcast(&task->dependencies[i].stream->done);
}

/* A stream of the context that runs a kernel; NULL if there is none. */
static Stream *running_kernel_locked(const Context *context)
{
    Stream *stream = context->streams;
    while (stream && !(stream->running && stream->head->stoppable)) stream = stream->next;
    return stream;
}

void queue_cancel_context(Context *context)
{
    uint64_t until = timeout_clock() + CANCEL_NANOSECONDS;
    pthread_mutex_lock(&queue_lock);
    atomic_store(&context->canceled, true);
    for (Stream *stream = context->streams; stream; stream = stream->next) {
        atomic_fetch_or(&stream->stop, GRID_CANCEL);
        if (stream->running) call_waiters_locked(stream->head);
    }
    for (Stream *stream; (stream = running_kernel_locked(context)) != NULL;) {
        object_hold(OBJECT(stream));
        bool called = sleep_locked(stream, until);
        pthread_mutex_unlock(&queue_lock);
        PUT(stream);
        pthread_mutex_lock(&queue_lock);
        if (!called) break;
    }
    pthread_mutex_unlock(&queue_lock);
    if (!context_error(context))
        context_fail(context, CUDA_ERROR_LAUNCH_FAILED,
                     "the work of this context was interrupted by its program", 0);
}

/* A closed stream stays in the list while it has tasks left. */
void queue_close(Stream *stream)
{
    bool gone = false;
    pthread_mutex_lock(&queue_lock);
    if (!stream->closing) {
        stream->closing = true;
        if (!is_idle(stream) || stream->worker_asleep) call_worker_locked(stream);
        gone = is_idle(stream) && unlist_locked(stream);
    }
    pthread_mutex_unlock(&queue_lock);
    if (gone) PUT(stream);
}

void queue_drop(Stream *stream)
{
    queue_close(stream);
    PUT(stream);
}

/* Some stream of the closing context that is still listed, with a reference; NULL if there is none. */
static Stream *next_to_close(Context *context)
{
    pthread_mutex_lock(&queue_lock);
    context->closing = true;
    Stream *stream = context->streams;
    if (stream) object_hold(OBJECT(stream));
    pthread_mutex_unlock(&queue_lock);
    return stream;
}

void queue_close_context(Context *context)
{
    for (Stream *stream; (stream = next_to_close(context)) != NULL; PUT(stream)) {
        capture_leave(stream);
        queue_close(stream);
        wait_until(stream, queue_last(stream), 0);
    }
    pthread_mutex_lock(&queue_lock);
    Stream *legacy = context->legacy;
    Stream *barrier = context->barrier;
    context->legacy = context->barrier = NULL;
    pthread_mutex_unlock(&queue_lock);
    if (legacy) PUT(legacy);
    if (barrier) PUT(barrier);
}
