/* Tracking of bytes that nothing has written: random changes against an array, and the tracking of
 * allocations by the memory map. */
#include "check.h"

#include <stdlib.h>

#include "exec/memory/memory_map.h"
#include "exec/memory/unwritten.h"

enum { START = 1000, SIZE = 777, STEPS = 20000 };

static unsigned long long random_state = 88172645463325252ull;
static uint64_t below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

/* The first set byte in [from, end), or SIZE. */
static uint64_t first_of(const uint8_t *model, uint64_t from, uint64_t end)
{
    while (from < end && !model[from]) from++;
    return from < end ? from : SIZE;
}

static void test_random_walk(void)
{
    Unwritten u;
    uint8_t model[SIZE] = {0};
    CHECK(unwritten_open(&u, START, SIZE));
    for (int step = 0; step < STEPS; step++) {
        uint64_t from = below(SIZE), size = below(step % 2 ? 20 : SIZE - from) + 1, first = 0;
        uint64_t end = from + size < SIZE ? from + size : SIZE, wanted;
        switch (below(3)) {
        case 0:
            unwritten_set(&u, START + from, size);
            memset(model + from, 1, end - from);
            break;
        case 1:
            unwritten_clear(&u, START + from, size);
            memset(model + from, 0, end - from);
            break;
        default:
            wanted = first_of(model, from, end);
            CHECK_EQUAL(unwritten_find(&u, START + from, size, &first), wanted != SIZE);
            if (wanted != SIZE) CHECK_EQUAL(first, START + wanted);
        }
    }
    unwritten_close(&u);
}

/* Addresses outside the tracked range are ignored. */
static void test_outside(void)
{
    Unwritten u, none = {0};
    uint64_t first;
    CHECK(unwritten_open(&u, START, SIZE));
    unwritten_set(&u, 0, UINT64_MAX);
    CHECK(!unwritten_find(&u, 0, START, &first) && !unwritten_find(&u, START + SIZE, 100, &first));
    CHECK(unwritten_find(&u, 0, START + 1, &first) && first == START);
    CHECK(unwritten_find(&u, START + SIZE - 1, 1, &first) && first == START + SIZE - 1);
    unwritten_clear(&u, START - 10, 11);
    CHECK(unwritten_find(&u, 0, UINT64_MAX, &first) && first == START + 1);
    unwritten_close(&u);
    unwritten_set(&none, 0, 100);
    CHECK(!unwritten_find(&none, 0, 100, &first));
}

static uint64_t get(MemoryMap *map, uint64_t size, MemoryKind kind)
{
    return memory_map_alloc(map, &(MemoryRequest){.size = size, .kind = kind, .shared = size % 2 != 0});
}

/* New device memory is unwritten, variables are not, and freed memory is not tracked. */
static void test_allocations(void)
{
    MemoryMap *map = memory_map_create();
    uint64_t first, sizes[] = {1, 7, 8, 9, 1000, 4097, 20 << 20};
    CHECK(memory_map_watch(map));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t size = sizes[i], base = get(map, size, MEMORY_DEVICE), other = get(map, size, MEMORY_GLOBAL);
        CHECK(memory_map_unwritten(map, base, size, &first) && first == base);
        CHECK(memory_map_unwritten(map, base + size - 1, 1, &first));
        CHECK(!memory_map_unwritten(map, base + size, 1, &first)
              && !memory_map_unwritten(map, base - 1, 1, &first));
        CHECK(!memory_map_unwritten(map, other, size, &first));
        memory_map_written(map, base, size - 1);
        CHECK(memory_map_unwritten(map, base, size, &first) && first == base + size - 1);
        CHECK(memory_map_free(map, base, NULL));
        CHECK(!memory_map_unwritten(map, base, size, &first));
    }
    memory_map_destroy(map);
}

/* A copy makes its destination as written or unwritten as its source. */
static void test_copies_copy_the_state(void)
{
    MemoryMap *map = memory_map_create();
    uint64_t first, from = 0, to = 0;
    CHECK(memory_map_watch(map));
    from = get(map, 100, MEMORY_DEVICE), to = get(map, 101, MEMORY_DEVICE);
    memory_map_written(map, from + 10, 80);
    memory_map_written(map, from + 95, 5);
    memory_map_copied(map, to, from + 5, 95);
    CHECK(memory_map_unwritten(map, to, 101, &first) && first == to);
    CHECK(memory_map_unwritten(map, to + 4, 97, &first) && first == to + 4);
    CHECK(!memory_map_unwritten(map, to + 5, 80, &first));
    CHECK(memory_map_unwritten(map, to + 5, 96, &first) && first == to + 85);
    CHECK(!memory_map_unwritten(map, to + 90, 5, &first) && memory_map_unwritten(map, to + 95, 1, &first));
    memory_map_copied(map, to, (uint64_t)(uintptr_t)&first, 101);
    CHECK(!memory_map_unwritten(map, to, 101, &first));
    memory_map_destroy(map);
}

/* Without memory_map_watch() nothing is tracked. */
static void test_no_tracking_by_default(void)
{
    MemoryMap *map = memory_map_create();
    uint64_t first, base = get(map, 100, MEMORY_DEVICE);
    CHECK(!memory_map_unwritten(map, base, 100, &first));
    memory_map_renewed(map, base, 100);
    CHECK(!memory_map_unwritten(map, base, 100, &first));
    memory_map_destroy(map);
}

int main(void)
{
    CHECK_GROUP(test_random_walk);
    CHECK_GROUP(test_outside);
    CHECK_GROUP(test_allocations);
    CHECK_GROUP(test_copies_copy_the_state);
    CHECK_GROUP(test_no_tracking_by_default);
    return check_done();
}
