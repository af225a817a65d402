/* The memory map: bounds to the byte, gaps, quarantine and poison, registered memory, a random walk against a
 * model, and concurrent readers and writers. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec/memory/memory_map.h"

static MemoryMap *map;

/* Allocates device memory; every second range is in the part that other processes may map. */
static uint64_t get(uint64_t size)
{
    static _Atomic unsigned count;
    bool shared = atomic_fetch_add(&count, 1) % 2;
    return memory_map_alloc(map, &(MemoryRequest){.size = size, .kind = MEMORY_DEVICE, .shared = shared});
}

/* A range is found by each of its bytes, and by none of the 256 after its end. */
static void test_bounds(void)
{
    static const uint64_t sizes[] = {1,    3,     255,   256,     511,           512,    513,
                                     4096, 65535, 65536, 1 << 20, (1 << 20) + 1, 5 << 20};
    MemoryRange range;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t size = sizes[i], base = get(size);
        CHECK(base && base % 512 == 0);
        CHECK(memory_map_find(map, base, &range) && range.base == base && range.size == size);
        CHECK(memory_map_find(map, base + size - 1, &range) && range.base == base);
        for (uint64_t beyond = 0; beyond < 256; beyond++)
            CHECK(!memory_map_find(map, base + size + beyond, &range));
        CHECK(memory_map_find_span(map, base, size, &range));
        CHECK(!memory_map_find_span(map, base, size + 1, &range));
        CHECK(!memory_map_find_span(map, base + 1, size, &range));
        memset((void *)(uintptr_t)base, 0x5a, size);
        CHECK(memory_map_free(map, base, &range) && range.size == size);
    }
    CHECK_EQUAL(get(0), 0);
    CHECK_EQUAL(get(UINT64_MAX), 0);
}

static void test_alignment(void)
{
    for (uint64_t align = 1024; align <= (8 << 20); align *= 2) {
        uint64_t base =
            memory_map_alloc(map, &(MemoryRequest){.size = 100, .align = align, .kind = MEMORY_GLOBAL});
        CHECK(base && base % align == 0);
        CHECK(memory_map_free(map, base, NULL));
    }
}

/* Ranges larger than 1 MiB start at multiples of 2 MiB, also with small ranges between them, and take no more
 * addresses than their size rounded up to that and the slabs of the small ranges. */
static void test_large_alignment(void)
{
    enum { MIB = 1 << 20, ROUNDS = 300 };
    static const uint64_t sizes[] = {MIB + 1,     MIB + MIB / 2, 2 * MIB - 1, 2 * MIB,
                                     5 * MIB + 3, 17 * MIB,      100 * MIB};
    static uint64_t large[ROUNDS], small[ROUNDS];
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t first = get(sizes[i]), between = get(700), next = get(sizes[i]);
        CHECK(first % (2 * MIB) == 0 && next % (2 * MIB) == 0 && between % 512 == 0);
        CHECK(memory_map_free(map, first, NULL) && memory_map_free(map, between, NULL));
        CHECK(memory_map_free(map, next, NULL));
    }
    for (int i = 0; i < ROUNDS; i++) {
        large[i] = memory_map_alloc(map, &(MemoryRequest){.size = MIB + MIB / 2});
        small[i] = memory_map_alloc(map, &(MemoryRequest){.size = MIB - 7});
        CHECK(large[i] % (2 * MIB) == 0 && small[i] && small[i] % 512 == 0);
        if (large[i] < low) low = large[i];
        if (large[i] > high) high = large[i];
    }
    CHECK(high - low <= (uint64_t)ROUNDS * 2 * MIB + (uint64_t)(ROUNDS / 20 + 2) * 32 * MIB);
    for (int i = 0; i < ROUNDS; i++)
        CHECK(memory_map_free(map, large[i], NULL) && memory_map_free(map, small[i], NULL));
}

/* Addresses of freed ranges are used again after their time in quarantine, also for odd sizes. */
static void test_addresses_are_reused(void)
{
    enum { SIZE = (4 << 20) + 1, QUARANTINE = 4096 };
    uint64_t first = get(SIZE), again = 0;
    CHECK(memory_map_free(map, first, NULL));
    for (int i = 0; i <= 2 * QUARANTINE && again != first; i++) {
        again = get(SIZE);
        CHECK(memory_map_free(map, again, NULL));
    }
    CHECK_EQUAL(again, first);
}

/* A freed range is not found, is filled with poison, and is still reported as the nearest one. */
static void test_freed(void)
{
    MemoryRange range;
    int found;
    uint64_t generation = atomic_load(memory_map_generation(map));
    uint64_t base = get(1000);
    memset((void *)(uintptr_t)base, 1, 1000);
    CHECK(!memory_map_free(map, base + 1, NULL));
    CHECK(memory_map_free(map, base, NULL));
    CHECK(atomic_load(memory_map_generation(map)) > generation);
    CHECK(!memory_map_find(map, base, &range));
    CHECK(!memory_map_free(map, base, NULL));
    memory_map_nearest(map, base + 10, &range, &found);
    CHECK(found && range.base == base && range.state == MEMORY_FREED && range.size == 1000);
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)base;
    int poisoned = 0;
    for (int i = 0; i < 1000; i++) poisoned += bytes[i] == MEMORY_POISON;
    CHECK_EQUAL(poisoned, 1000);
    uint64_t again = get(1000);
    CHECK(again != base); /* the quarantine keeps the address */
    CHECK(memory_map_free(map, again, NULL));
}

static void test_nearest(void)
{
    MemoryRange range;
    int found;
    uint64_t base = get(700);
    memory_map_nearest(map, base + 700 + 4, &range, &found);
    CHECK(found && range.base == base && range.state == MEMORY_LIVE);
    memory_map_nearest(map, 64, &range, &found);
    CHECK(found);
    memory_map_free(map, base, NULL);
}

static void test_large(void)
{
    MemoryRange range;
    uint64_t size = (UINT64_C(5) << 30) + 123, base = get(size); /* more bytes than 32 bits can count */
    CHECK(base != 0);
    ((char *)(uintptr_t)base)[size - 1] = 7;
    CHECK(memory_map_find(map, base + size - 1, &range) && range.size == size);
    CHECK(!memory_map_find(map, base + size, &range));
    CHECK(memory_map_free(map, base, NULL));
}

/* Registered host memory is found like allocated memory, and may not overlap other ranges. */
static void test_registered(void)
{
    static char block[10000];
    MemoryRange range;
    uint64_t base = (uint64_t)(uintptr_t)block, inside = get(100);
    MemoryRequest request = {.size = 4000, .kind = MEMORY_REGISTERED};
    CHECK(memory_map_register(map, base + 1000, &request));
    CHECK(!memory_map_register(map, base + 4999, &request));
    CHECK(!memory_map_register(map, base, &request));
    CHECK(!memory_map_register(map, inside, &request));
    request.size = 1000;
    CHECK(memory_map_register(map, base, &request));
    CHECK(memory_map_find(map, base + 4999, &range) && range.base == base + 1000);
    CHECK(!memory_map_find(map, base + 5000, &range));
    CHECK(!memory_map_free(map, base, NULL));
    CHECK(!memory_map_unregister(map, base + 1, NULL));
    CHECK(memory_map_unregister(map, base, NULL));
    CHECK(memory_map_unregister(map, base + 1000, NULL));
    CHECK(!memory_map_unregister(map, inside, NULL));
    CHECK(memory_map_free(map, inside, NULL));
}

/* Bytes written to a shared range are in the exported file, at the exported offset; freeing a large range
 * releases its pages in the file as well. */
static void test_export(void)
{
    enum { LARGE_BYTES = 5 << 20 };
    uint64_t base = memory_map_alloc(map, &(MemoryRequest){.size = LARGE_BYTES, .shared = true});
    uint64_t own = memory_map_alloc(map, &(MemoryRequest){.size = LARGE_BYTES});
    MemoryRange range;
    MemoryExport place = {-1, 0, 0};
    char byte = 0;
    CHECK(memory_map_find(map, own, &range) && !range.shared && !memory_map_export(map, &range, &place));
    CHECK(memory_map_find(map, base, &range));
#ifdef __SANITIZE_THREAD__
    if (!range.shared) return; /* ThreadSanitizer's runtime does not always leave a large enough hole */
#endif
    CHECK(range.shared && memory_map_export(map, &range, &place));
    memset((void *)(uintptr_t)base, 'x', LARGE_BYTES);
    CHECK(pread(place.descriptor, &byte, 1, (off_t)place.offset + LARGE_BYTES - 1) == 1 && byte == 'x');
    CHECK(memory_map_reserves(map, base) && memory_map_reserves(map, own));
    CHECK(memory_map_free(map, base, NULL) && memory_map_free(map, own, NULL));
    CHECK(pread(place.descriptor, &byte, 1, (off_t)place.offset + LARGE_BYTES / 2) == 1 && byte == 0);
}

/* All ranges of an owner are freed at once, and their bytes are summed by kind. */
static void test_owner(void)
{
    uint64_t bytes[MEMORY_KINDS];
    MemoryRange range;
    int owner, other;
    uint64_t last = 0;
    for (int i = 0; i < 100; i++)
        last = memory_map_alloc(map, &(MemoryRequest){.size = 10,
                                                      .kind = i % 2 ? MEMORY_DEVICE : MEMORY_MANAGED,
                                                      .owner = i < 60 ? &owner : &other});
    memory_map_free_owner(map, &owner, bytes);
    CHECK_EQUAL(bytes[MEMORY_DEVICE], 300);
    CHECK_EQUAL(bytes[MEMORY_MANAGED], 300);
    CHECK(memory_map_find(map, last, &range));
    memory_map_free_owner(map, &other, bytes);
    CHECK_EQUAL(bytes[MEMORY_DEVICE], 200);
    CHECK(!memory_map_find(map, last, &range));
}

enum { SLOTS = 300, STEPS = 20000 };

/* Live ranges of random sizes keep their contents, and their sizes are found. */
static void test_random_walk(void)
{
    static uint64_t bases[SLOTS], sizes[SLOTS];
    MemoryRange range;
    uint32_t random = 12345;
    int wrong = 0;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        int slot = (int)(random >> 8) % SLOTS;
        if (bases[slot]) {
            unsigned char *bytes = (unsigned char *)(uintptr_t)bases[slot];
            wrong += bytes[0] != (unsigned char)slot || bytes[sizes[slot] - 1] != (unsigned char)slot;
            wrong += !memory_map_free(map, bases[slot], &range) || range.size != sizes[slot];
            bases[slot] = 0;
            continue;
        }
        sizes[slot] = 1 + random % (random % 97 ? 20000 : 3000000);
        bases[slot] = get(sizes[slot]);
        wrong += !bases[slot] || !memory_map_find_span(map, bases[slot], sizes[slot], &range);
        memset((void *)(uintptr_t)bases[slot], slot, sizes[slot]);
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (bases[slot]) wrong += !memory_map_free(map, bases[slot], NULL);
    CHECK_EQUAL(wrong, 0);
}

static uint64_t watched;
static _Atomic int stop;

/* Counts how often a live range is not found. Pauses, because glibc's lock prefers readers, and three that
 * never stop would keep writers out for a long time. */
static void *reader_main(void *argument)
{
    MemoryRange range;
    long *wrong = argument;
    for (unsigned n = 1; !atomic_load(&stop); n++) {
        *wrong += !memory_map_find(map, watched + 77, &range) || range.base != watched || range.size != 100;
        if (n % 16 == 0) usleep(1);
    }
    return NULL;
}

/* A range is found at any time while other threads allocate and free. */
static void test_threads(void)
{
    pthread_t readers[3];
    long wrong[3] = {0};
    watched = get(100);
    for (int i = 0; i < 3; i++) CHECK(!pthread_create(&readers[i], NULL, reader_main, &wrong[i]));
    for (int i = 0; i < 5000; i++) {
        uint64_t base = get(1 + (uint64_t)i % 5000);
        memory_map_free(map, base, NULL);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(readers[i], NULL);
        CHECK_EQUAL(wrong[i], 0);
    }
    memory_map_free(map, watched, NULL);
}

/* ---- addresses that the program reserves ---- */

enum { ROOM = 1 << 20 };

/* Part of a reserved room: mapped for the devices in the mask `readers`, or only reserved if it is 0. */
static MemoryRange part(uint64_t base, uint64_t size, uint64_t readers)
{
    return (MemoryRange){.base = base,
                         .size = size,
                         .kind = readers ? MEMORY_MAPPED : MEMORY_RESERVED,
                         .state = readers ? MEMORY_LIVE : MEMORY_CLOSED,
                         .readers = readers,
                         .writers = readers};
}

/* A reserved room is divided into mapped and reserved parts: only mapped ones are found. */
static void test_divided(void)
{
    void *room = aligned_alloc(4096, ROOM);
    uint64_t base = (uint64_t)(uintptr_t)room;
    MemoryRange all = part(base, ROOM, 0), range;
    MemoryRange parts[] = {part(base, 4096, 1), part(base + 4096, 4096, 3),
                           part(base + 8192, ROOM - 8192, 0)};
    int found = 0;
    CHECK(memory_map_divide(map, base, ROOM, &all, 1) && all.id);
    CHECK(memory_map_reserves(map, base + 5) && memory_map_is_closed(map, base + 5, 1));
    CHECK(!memory_map_find(map, base, &range) && !memory_map_find_for_call(map, base, 1, &range));
    CHECK(!memory_map_register(map, base, &(MemoryRequest){.size = 10, .kind = MEMORY_REGISTERED}));
    memory_map_nearest(map, base + 5, &range, &found);
    CHECK(found && range.state == MEMORY_CLOSED && range.size == ROOM);
    CHECK(memory_map_divide(map, base, ROOM, parts, 3));
    CHECK(memory_map_find(map, base + 4095, &range) && range.size == 4096 && range.readers == 1);
    CHECK(memory_map_find_span(map, base + 100, 8092, &range) && range.base == base);
    CHECK(memory_map_find_for_call(map, base + 100, 8092, &range) && range.base == base);
    CHECK(!memory_map_find_span(map, base + 100, 8093, &range));
    CHECK(!memory_map_is_closed(map, base, 8192) && memory_map_is_closed(map, base, 8193));
    CHECK(memory_map_divide(map, base, ROOM, NULL, 0));
    CHECK(!memory_map_reserves(map, base) && !memory_map_is_closed(map, base, ROOM));
    CHECK(memory_map_register(map, base, &(MemoryRequest){.size = 10, .kind = MEMORY_REGISTERED}));
    CHECK(!memory_map_divide(map, base, ROOM, &all, 1));
    CHECK(memory_map_unregister(map, base, NULL));
    free(room);
}

static atomic_int divided;

/* Returns how often the first page was not found until `divided` is set. */
static void *find_first_page(void *first)
{
    uint64_t base = (uint64_t)(uintptr_t)first;
    uintptr_t missed = 0;
    MemoryRange range;
    for (unsigned n = 1; !atomic_load(&divided); n++) {
        missed += !memory_map_find_span(map, base, 4096, &range);
        if (n % 16 == 0) usleep(1);
    }
    return (void *)missed;
}

/* A page that stays mapped is found at any time while the parts of its room change. */
static void test_divided_while_read(void)
{
    void *room = aligned_alloc(4096, ROOM), *missed;
    uint64_t base = (uint64_t)(uintptr_t)room;
    pthread_t reader;
    MemoryRange first = part(base, ROOM, 1);
    CHECK(memory_map_divide(map, base, ROOM, &first, 1));
    atomic_store(&divided, 0);
    pthread_create(&reader, NULL, find_first_page, room);
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t cut = 4096 * (1 + i % 7);
        MemoryRange parts[] = {part(base, cut, 1 + i % 2), part(base + cut, ROOM - cut, i % 3)};
        CHECK(memory_map_divide(map, base, ROOM, parts, 2));
    }
    atomic_store(&divided, 1);
    pthread_join(reader, &missed);
    CHECK(!missed);
    CHECK(memory_map_divide(map, base, ROOM, NULL, 0));
    free(room);
}

/* A memory pool marks how much of its block is in use: kernels find only that, API calls the whole block. */
static void test_marked(void)
{
    MemoryRange marked, range;
    uint64_t base = get(1023);
    CHECK(memory_map_mark(map, base, &marked) && marked.size == 1023);
    memory_map_show(map, &marked, 1000);
    CHECK(memory_map_find(map, base + 999, &range) && range.size == 1000);
    CHECK(!memory_map_find(map, base + 1000, &range));
    CHECK(memory_map_find_for_call(map, base, 1023, &range) && range.size == 1023);
    memory_map_show(map, &marked, 0);
    CHECK(!memory_map_find(map, base, &range));
    CHECK(memory_map_find_for_call(map, base, 1023, &range));
    memory_map_show(map, &marked, 1023);
    CHECK(memory_map_find_span(map, base, 1023, &range));
    memory_map_show(map, &marked, 0);
    CHECK(memory_map_free(map, base, &range) && range.size == 1023);
    memory_map_show(map, &marked, 1023);
    CHECK(!memory_map_find(map, base, &range));
    CHECK(!memory_map_mark(map, base, &marked));
}

int main(void)
{
    map = memory_map_create();
    CHECK(map != NULL);
    if (!map) return check_done();
    CHECK_GROUP(test_bounds);
    CHECK_GROUP(test_alignment);
    CHECK_GROUP(test_large_alignment);
    CHECK_GROUP(test_addresses_are_reused);
    CHECK_GROUP(test_freed);
    CHECK_GROUP(test_nearest);
    CHECK_GROUP(test_large);
    CHECK_GROUP(test_registered);
    CHECK_GROUP(test_export);
    CHECK_GROUP(test_divided);
    CHECK_GROUP(test_divided_while_read);
    CHECK_GROUP(test_owner);
    CHECK_GROUP(test_marked);
    CHECK_GROUP(test_random_walk);
    CHECK_GROUP(test_threads);
    memory_map_destroy(map);
    return check_done();
}
