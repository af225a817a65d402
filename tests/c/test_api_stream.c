/* Streams and events: asynchrony, order, waiting for events, the legacy stream's rules, callbacks, times. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/base/api.h"

#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

static void sleep_ms(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* A host function that holds its stream until the gate is opened. */
static void wait_gate(void *gate)
{
    while (!atomic_load((_Atomic int *)gate)) sleep_ms(1);
}

/* A host function that adds 1 to a counter. */
static void count(void *counter) { atomic_fetch_add((_Atomic int *)counter, 1); }

static bool is_busy(CUstream stream) { return cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; }

/* Whether the stream is busy at some time in the next 10 s: the thread that keeps it busy may have to wait
 * for a processor. */
static bool becomes_busy(CUstream stream)
{
    int tries_left = 10000;
    while (!is_busy(stream) && --tries_left > 0) sleep_ms(1);
    return tries_left > 0;
}

/* Work is queued without being waited for, and streams do not hold each other up. */
static void test_asynchrony(void)
{
    _Atomic int gate = 0, done = 0;
    CUstream stream, other;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamQuery(stream));
    OK(cuLaunchHostFunc(stream, wait_gate, &gate));
    OK(cuLaunchHostFunc(stream, count, &done));
    CHECK(is_busy(stream));
    OK(cuLaunchHostFunc(other, count, &done));
    OK(cuStreamSynchronize(other));
    CHECK_EQUAL(atomic_load(&done), 1);
    CHECK(is_busy(stream));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(stream));
    CHECK_EQUAL(atomic_load(&done), 2);
    OK(cuStreamQuery(stream));
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
}

static void sleep_briefly(void *data)
{
    (void)data;
    sleep_ms(2);
}

static CUcontext busy_context;
static _Atomic int enough;

/* Queues work until `enough` is set; with four events in flight the stream is never idle for long. */
static void *keep_busy(void *argument)
{
    CUstream stream = argument;
    CUevent events[4];
    OK(cuCtxSetCurrent(busy_context));
    for (int i = 0; i < 4; i++) OK(cuEventCreate(&events[i], 0));
    for (int i = 0; !atomic_load(&enough); i = (i + 1) % 4) {
        OK(cuEventSynchronize(events[i]));
        OK(cuLaunchHostFunc(stream, sleep_briefly, NULL));
        OK(cuEventRecord(events[i], stream));
    }
    for (int i = 0; i < 4; i++) OK(cuEventDestroy_v2(events[i]));
    return NULL;
}

/* Synchronization and synchronous copies return although another thread keeps queuing work into its stream:
 * they wait only for work that was queued before them. */
static void test_waits_do_not_include_later_work(void)
{
    CUstream stream;
    CUdeviceptr memory;
    pthread_t thread;
    char byte;
    OK(cuCtxGetCurrent(&busy_context));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&memory, 16));
    pthread_create(&thread, NULL, keep_busy, stream);
    CHECK(becomes_busy(stream));
    OK(cuCtxSynchronize());
    OK(cuStreamSynchronize(NULL));
    OK(cuMemcpyDtoH_v2(&byte, memory, 1));
    OK(cuMemFree_v2(memory));
    CHECK(becomes_busy(stream));
    atomic_store(&enough, 1);
    pthread_join(thread, NULL);
    OK(cuStreamDestroy_v2(stream));
}

/* Work that was queued before a stream was destroyed is still done. */
static void test_destroy_busy(void)
{
    _Atomic int gate = 0, done = 0;
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuLaunchHostFunc(stream, wait_gate, &gate));
    OK(cuLaunchHostFunc(stream, count, &done));
    OK(cuStreamDestroy_v2(stream));
    CHECK_EQUAL(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    atomic_store(&gate, 1);
    OK(cuCtxSynchronize());
    CHECK_EQUAL(atomic_load(&done), 1);
}

/* Copies and fills of one stream happen in order. */
static void test_order(void)
{
    enum { WORDS = 100000, ROUNDS = 50 };
    CUdeviceptr a;
    CUstream stream;
    uint32_t *pinned;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&a, WORDS * 4));
    OK(cuMemHostAlloc((void **)&pinned, WORDS * 4 * 2, 0));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        OK(cuMemsetD32Async(a, round, WORDS, stream));
        OK(cuMemcpyDtoHAsync_v2(pinned, a, WORDS * 4, stream));
        OK(cuMemsetD32Async(a, ~round, WORDS, stream));
        OK(cuMemcpyDtoHAsync_v2(pinned + WORDS, a, WORDS * 4, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(pinned[0] == round && pinned[WORDS - 1] == round && pinned[WORDS] == ~round);
    }
    OK(cuMemFree_v2(a));
    OK(cuMemFreeHost(pinned));
    OK(cuStreamDestroy_v2(stream));
}

/* The source of an asynchronous copy from pageable memory may be changed at once. */
static void test_pageable_source(void)
{
    _Atomic int gate = 0;
    CUdeviceptr a;
    CUstream stream;
    int value = 5, back = 0;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&a, 4));
    OK(cuLaunchHostFunc(stream, wait_gate, &gate));
    OK(cuMemcpyHtoDAsync_v2(a, &value, 4, stream));
    value = 6;
    atomic_store(&gate, 1);
    OK(cuMemcpyDtoHAsync_v2(&back, a, 4, stream)); /* pageable: done when it returns */
    CHECK_EQUAL(back, 5);
    OK(cuMemFree_v2(a));
    OK(cuStreamDestroy_v2(stream));
}

/* A stream waits for an event of another stream, also after the event is destroyed. */
static void test_wait_event(void)
{
    _Atomic int gate = 0, done = 0;
    CUstream first, second;
    CUevent event;
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(event));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuLaunchHostFunc(first, wait_gate, &gate));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuLaunchHostFunc(second, count, &done));
    sleep_ms(20);
    CHECK_EQUAL(atomic_load(&done), 0);
    CHECK_EQUAL(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuEventDestroy_v2(event)); /* the wait stays */
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(second));
    CHECK_EQUAL(atomic_load(&done), 1);
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

/* Blocking streams and the legacy stream take turns; non-blocking streams do not. */
static void test_legacy(void)
{
    _Atomic int gate = 0, legacy_done = 0, free_done = 0, later = 0;
    CUstream blocking, free_stream;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(blocking, wait_gate, &gate));
    OK(cuLaunchHostFunc(NULL, count, &legacy_done));
    OK(cuLaunchHostFunc(free_stream, count, &free_done));
    OK(cuStreamSynchronize(free_stream));
    CHECK_EQUAL(atomic_load(&free_done), 1);
    CHECK_EQUAL(atomic_load(&legacy_done), 0);
    CHECK(is_busy(NULL));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(NULL));
    CHECK_EQUAL(atomic_load(&legacy_done), 1);
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(CU_STREAM_LEGACY, wait_gate, &gate));
    OK(cuLaunchHostFunc(blocking, count, &later));
    sleep_ms(20);
    CHECK_EQUAL(atomic_load(&later), 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(blocking));
    CHECK_EQUAL(atomic_load(&later), 1);
    OK(cuStreamDestroy_v2(blocking));
    OK(cuStreamDestroy_v2(free_stream));
}

static _Atomic int thread_gate;

/* Uses the per-thread default stream of its own thread; returns NULL if nothing failed. */
static void *thread_main(void *context)
{
    _Atomic int done = 0;
    bool good = !cuCtxSetCurrent(context) && !cuLaunchHostFunc_ptsz(NULL, count, &done)
                && !cuStreamSynchronize_ptsz(NULL) && atomic_load(&done) == 1;
    return good ? NULL : context;
}

/* Default streams of two threads do not wait for each other. */
static void test_per_thread(void)
{
    CUcontext context;
    pthread_t thread;
    CUstream other;
    OK(cuCtxGetCurrent(&context));
    atomic_store(&thread_gate, 0);
    OK(cuLaunchHostFunc_ptsz(NULL, wait_gate, &thread_gate));
    CHECK(!pthread_create(&thread, NULL, thread_main, context));
    void *answer = &context;
    pthread_join(thread, &answer);
    CHECK(!answer);
    CHECK(is_busy(CU_STREAM_PER_THREAD));
    OK(cuStreamCreate(&other, 0));
    OK(cuStreamQuery(other));
    atomic_store(&thread_gate, 1);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuStreamDestroy_v2(other));
}

typedef struct LateFill {
    CUcontext context;
    CUdeviceptr memory;
    char found;
    _Atomic int done;
} LateFill;

/* Fills and reads memory by synchronous calls; returns NULL if nothing failed. */
static void *fill_late(void *argument)
{
    LateFill *fill = argument;
    bool good = !cuCtxSetCurrent(fill->context) && !cuMemsetD8_v2(fill->memory, 7, 4)
                && !cuMemcpyDtoH_v2(&fill->found, fill->memory, 1);
    atomic_store(&fill->done, 1);
    return good ? NULL : fill;
}

/* cuCtxWaitEvent() holds up later streams, and also the fills and copies that the calling thread would do
 * itself. */
static void test_wait_of_all_streams(void)
{
    _Atomic int gate = 0, ran = 0;
    LateFill fill = {0};
    CUstream held, later;
    CUevent event;
    pthread_t thread;
    void *answer = &fill;
    OK(cuCtxGetCurrent(&fill.context));
    OK(cuMemAlloc_v2(&fill.memory, 4));
    OK(cuMemsetD8_v2(fill.memory, 1, 4));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(held, wait_gate, &gate));
    OK(cuEventRecord(event, held));
    OK(cuCtxWaitEvent(fill.context, event));
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuStreamQuery(NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuStreamQuery(later));
    CHECK(!pthread_create(&thread, NULL, fill_late, &fill));
    sleep_ms(20);
    CHECK(!atomic_load(&fill.done));
    OK(cuLaunchHostFunc(later, count, &ran));
    CHECK(is_busy(later));
    CHECK_EQUAL(atomic_load(&ran), 0);
    atomic_store(&gate, 1);
    pthread_join(thread, &answer);
    CHECK(!answer);
    OK(cuCtxSynchronize());
    CHECK_EQUAL(atomic_load(&ran), 1);
    CHECK_EQUAL(fill.found, 7);
    OK(cuStreamDestroy_v2(later));
    OK(cuStreamDestroy_v2(held));
    OK(cuEventDestroy_v2(event));
    OK(cuMemFree_v2(fill.memory));
}

/* What a stream callback was called with, and what an API call from inside it returned. */
typedef struct CallbackRecord {
    _Atomic int calls;
    CUstream stream;
    CUresult status, inside;
    CUcontext current;
} CallbackRecord;

static void record_call(CUstream stream, CUresult status, void *data)
{
    CallbackRecord *record = data;
    record->stream = stream;
    record->status = status;
    record->inside = cuCtxGetCurrent(&record->current);
    atomic_fetch_add(&record->calls, 1);
}

/* A callback gets its stream and success, and may not call the API. */
static void test_callback(void)
{
    CallbackRecord record = {0};
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamAddCallback(stream, record_call, &record, 0));
    CHECK_EQUAL(cuStreamAddCallback(stream, record_call, &record, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
    CHECK_EQUAL(atomic_load(&record.calls), 1);
    CHECK(record.stream == stream && record.status == CUDA_SUCCESS
          && record.inside == CUDA_ERROR_NOT_PERMITTED);
    OK(cuStreamDestroy_v2(stream));
}

/* Elapsed times need two recorded events with timing, are signed, and cover the work between the events. */
static void test_times(void)
{
    CUevent start, end, untimed;
    CUstream stream;
    float elapsed = -1;
    _Atomic int gate = 0;
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&start, 0));
    OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    CHECK_EQUAL(cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(start, stream));
    OK(cuEventSynchronize(start));
    OK(cuLaunchHostFunc(stream, wait_gate, &gate));
    OK(cuEventRecord(end, stream));
    CHECK_EQUAL(cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_NOT_READY);
    sleep_ms(30);
    atomic_store(&gate, 1);
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&elapsed, start, end));
    CHECK(elapsed >= 30 && elapsed < 10000);
    OK(cuEventElapsedTime(&elapsed, end, start));
    CHECK(elapsed <= -30);
    OK(cuEventRecord(untimed, stream));
    OK(cuEventSynchronize(untimed));
    CHECK_EQUAL(cuEventElapsedTime(&elapsed, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuEventCreate(&start, 99), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy_v2(end));
    OK(cuEventDestroy_v2(untimed));
    OK(cuStreamDestroy_v2(stream));
}

/* Getters return what a stream was created with; priorities are clamped to the device's range. */
static void test_queries(void)
{
    CUstream stream;
    CUcontext context, found;
    unsigned flags = 9;
    int priority = 9, device = 9;
    unsigned long long ids[2];
    OK(cuCtxGetCurrent(&context));
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3));
    OK(cuStreamGetFlags(stream, &flags));
    OK(cuStreamGetPriority(stream, &priority));
    OK(cuStreamGetCtx(stream, &found));
    OK(cuStreamGetDevice(stream, &device));
    OK(cuStreamGetId(stream, &ids[0]));
    OK(cuStreamGetId(NULL, &ids[1]));
    CHECK(flags == CU_STREAM_NON_BLOCKING && priority == -3 && found == context && device == 0
          && ids[0] != ids[1]);
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamCreateWithPriority(&stream, 0, -100));
    OK(cuStreamGetPriority(stream, &priority));
    CHECK(priority > -100 && priority < 0);
    OK(cuStreamDestroy_v2(stream));
    CHECK_EQUAL(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

/* An event cannot be recorded in a stream of another context. */
static void test_event_of_another_context(void)
{
    CUcontext other;
    CUevent event;
    CUstream stream;
    OK(cuEventCreate(&event, 0));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    CHECK_EQUAL(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(other));
    OK(cuEventDestroy_v2(event));
}

enum { THREADS = 4, ROUNDS = 200 };

typedef struct Crowd {
    CUcontext context;
    CUevent event;
    _Atomic int done, wrong;
} Crowd;

/* A thread of the crowd: queues fills, copies, host functions and waits in a stream of its own and in the
 * legacy stream. */
static void *crowd_main(void *data)
{
    Crowd *crowd = data;
    CUstream stream;
    CUdeviceptr a;
    uint32_t back = 0;
    cuCtxSetCurrent(crowd->context);
    cuStreamCreate(&stream, 0);
    cuMemAlloc_v2(&a, 4000);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        cuMemsetD32Async(a, i, 1000, stream);
        cuLaunchHostFunc(stream, count, &crowd->done);
        cuEventRecord(crowd->event, stream);
        cuStreamWaitEvent(NULL, crowd->event, 0);
        if (i % 7 == 0) cuLaunchHostFunc(NULL, count, &crowd->done);
        if (i % 5 == 0) cuMemcpyDtoHAsync_v2(&back, a + 3996, 4, stream);
        if (i % 5 == 0 && back != i) atomic_fetch_add(&crowd->wrong, 1);
    }
    if (cuStreamSynchronize(stream)) atomic_fetch_add(&crowd->wrong, 1);
    cuMemFree_v2(a);
    cuStreamDestroy_v2(stream);
    return NULL;
}

/* Many threads use streams, one event and the legacy stream at the same time, and no work is lost. */
static void test_crowd(void)
{
    Crowd crowd = {0};
    pthread_t threads[THREADS];
    OK(cuCtxGetCurrent(&crowd.context));
    OK(cuEventCreate(&crowd.event, 0));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, crowd_main, &crowd));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    OK(cuCtxSynchronize());
    CHECK_EQUAL(atomic_load(&crowd.done),
                THREADS * (ROUNDS + (ROUNDS + 6) / 7)); /* one more every 7 rounds */
    CHECK_EQUAL(atomic_load(&crowd.wrong), 0);
    OK(cuEventDestroy_v2(crowd.event));
}

int main(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(test_asynchrony);
    CHECK_GROUP(test_waits_do_not_include_later_work);
    CHECK_GROUP(test_destroy_busy);
    CHECK_GROUP(test_order);
    CHECK_GROUP(test_pageable_source);
    CHECK_GROUP(test_wait_event);
    CHECK_GROUP(test_legacy);
    CHECK_GROUP(test_per_thread);
    CHECK_GROUP(test_wait_of_all_streams);
    CHECK_GROUP(test_callback);
    CHECK_GROUP(test_times);
    CHECK_GROUP(test_queries);
    CHECK_GROUP(test_event_of_another_context);
    CHECK_GROUP(test_crowd);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
