/* Chunks of memory: their sizes, which returned chunks are kept and taken again, and use by many threads. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "ptx/chunks.h"

static Chunks chunks = CHUNKS_INITIALIZER;

/* Sizes are rounded up to powers of two from 4 KiB to 4 MiB; larger ones are exact. */
static void test_sizes(void)
{
    static const struct {
        size_t asked, expected;
    } cases[] = {{1, 4096},        {4096, 4096},       {4097, 8192},
                 {100000, 131072}, {4 << 20, 4 << 20}, {5000000, 5000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = cases[i].asked;
        void *chunk = chunks_take(&chunks, &size);
        CHECK(chunk != NULL);
        CHECK_EQUAL(size, cases[i].expected);
        if (chunk) memset(chunk, 0x5a, size);
        chunks_return(&chunks, chunk, size);
    }
    size_t huge = SIZE_MAX / 2;
    CHECK(chunks_take(&chunks, &huge) == NULL);
    chunks_return(&chunks, NULL, 0);
    size_t size = 10000;
    void *unkept = chunks_take(NULL, &size); /* without a store */
    CHECK(unkept != NULL);
    chunks_return(NULL, unkept, size);
}

/* The chunk returned last is the first to be taken again, for a request of the same size; a build with
 * sanitizers keeps none. */
static void test_reuse(void)
{
    size_t size = 20000, smaller = 10000;
    void *first = chunks_take(&chunks, &size);
    chunks_return(&chunks, first, size);
    if (!chunks.kept) return;
    void *other = chunks_take(&chunks, &smaller), *again = chunks_take(&chunks, &size);
    CHECK(other != first);
    CHECK(again == first);
    chunks_return(&chunks, other, smaller);
    chunks_return(&chunks, again, size);
}

/* No more than CHUNKS_KEPT bytes are kept. */
static void test_limit(void)
{
    void *taken[64];
    size_t size = 1 << 20;
    for (int i = 0; i < 64; i++) taken[i] = chunks_take(&chunks, &size);
    CHECK(chunks.kept <= CHUNKS_KEPT);
    for (int i = 0; i < 64; i++) chunks_return(&chunks, taken[i], size);
    CHECK(chunks.kept <= CHUNKS_KEPT);
}

/* Takes, marks and returns chunks; returns how often another thread wrote to a chunk meanwhile. */
static void *take_and_return(void *argument)
{
    unsigned char mark = *(unsigned char *)argument;
    intptr_t clashes = 0;
    for (int round = 0; round < 2000; round++) {
        size_t size = (size_t)1 << (12 + (round + mark) % 6);
        unsigned char *chunk = chunks_take(&chunks, &size);
        if (!chunk) return (void *)1;
        memset(chunk, mark, size);
        for (size_t i = 0; i < size; i += 512) clashes += chunk[i] != mark;
        chunks_return(&chunks, chunk, size);
    }
    return (void *)clashes;
}

/* No two threads have the same chunk at the same time. */
static void test_threads(void)
{
    static unsigned char marks[] = {1, 2, 3, 4};
    pthread_t made[4];
    for (int t = 0; t < 4; t++) CHECK(pthread_create(&made[t], NULL, take_and_return, &marks[t]) == 0);
    for (int t = 0; t < 4; t++) {
        void *clashes;
        CHECK(pthread_join(made[t], &clashes) == 0 && clashes == NULL);
    }
}

int main(void)
{
    CHECK_GROUP(test_sizes);
    CHECK_GROUP(test_reuse);
    CHECK_GROUP(test_limit);
    CHECK_GROUP(test_threads);
    return check_done();
}
