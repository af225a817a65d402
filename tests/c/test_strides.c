/* Shapes and strides, against walks over a view element by element. */
#include "check.h"

#include "views.h"

#include "core/layout/strides.c"

typedef struct Extent {
    ptrdiff_t low, high, itemsize;
} Extent;

/* A visitor: widens the extent to the element. */
static void widen(ptrdiff_t offset, ptrdiff_t number, void *data)
{
    Extent *extent = data;
    (void)number;
    if (offset < extent->low) extent->low = offset;
    if (offset + extent->itemsize > extent->high) extent->high = offset + extent->itemsize;
}

/* A visitor: counts the visits of each offset. */
static void mark(ptrdiff_t offset, ptrdiff_t number, void *data)
{
    (void)number;
    ((unsigned char *)data)[ROOM / 2 + offset]++;
}

static void test_fill_and_contiguity(void)
{
    const ptrdiff_t shape[] = {2, 3, 4}, empty[] = {2, 0, 4};
    ptrdiff_t strides[3];
    strides_fill('C', 3, shape, 4, strides);
    CHECK(strides[0] == 48 && strides[1] == 16 && strides[2] == 4);
    CHECK(strides_is_c(3, shape, strides, 4) && !strides_is_f(3, shape, strides, 4));
    strides_fill('F', 3, shape, 4, strides);
    CHECK(strides[0] == 4 && strides[1] == 8 && strides[2] == 24);
    CHECK(!strides_is_c(3, shape, strides, 4) && strides_is_f(3, shape, strides, 4));
    strides_fill('C', 3, empty, 4, strides);
    CHECK(strides[0] == 16 && strides[1] == 16 && strides[2] == 4);
    CHECK(strides_is_c(3, empty, shape, 4) && strides_is_f(3, empty, shape, 4));
    CHECK(strides_is_c(0, NULL, NULL, 4) && strides_is_f(0, NULL, NULL, 4));
}

static void test_count(void)
{
    const ptrdiff_t huge[] = {PTRDIFF_MAX / 8, 5}, negative[] = {3, -1}, empty_huge[] = {PTRDIFF_MAX / 8, 0};
    CHECK(strides_count(0, NULL, 8) == 1);
    CHECK(strides_count(2, (const ptrdiff_t[]){3, 5}, 8) == 15);
    CHECK(strides_count(2, huge, 8) == -1 && strides_count(2, negative, 8) == -1);
    CHECK(strides_count(2, empty_huge, 8) == 0);
}

static void test_extents_that_overflow(void)
{
    const ptrdiff_t shape[] = {5, 3}, large = PTRDIFF_MAX / 4;
    ptrdiff_t low, high;
    CHECK(strides_extent(1, shape, (const ptrdiff_t[]){large}, 1, &low, &high) && high == 4 * large + 1);
    CHECK(!strides_extent(1, shape, (const ptrdiff_t[]){large}, 8, &low, &high));
    CHECK(!strides_extent(1, shape, (const ptrdiff_t[]){large + 1}, 1, &low, &high));
    CHECK(!strides_extent(1, shape, (const ptrdiff_t[]){PTRDIFF_MIN}, 1, &low, &high));
    CHECK(!strides_extent(2, shape, (const ptrdiff_t[]){large, large}, 1, &low, &high));
    CHECK(!strides_extent(2, shape, (const ptrdiff_t[]){-large, -large}, 1, &low, &high));
}

/* Extents, overlap and packing of random views. */
static void test_views(void)
{
    static unsigned char memory[ROOM];
    for (int round = 0; round < 3000; round++) {
        ptrdiff_t shape[DIMS], strides[DIMS], packed[DIMS], low, high, itemsize = 1 + random_below(8);
        int ndim = random_view(shape, strides, itemsize);
        Extent extent = {0, 0, itemsize};
        walk(ndim, shape, strides, widen, &extent);
        CHECK(strides_extent(ndim, shape, strides, itemsize, &low, &high));
        CHECK(low == extent.low && high == extent.high);
        CHECK(!strides_may_overlap(ndim, shape, strides, itemsize));
        strides_pack_like(ndim, shape, strides, itemsize, packed);
        CHECK(strides_is_packed(ndim, shape, packed, itemsize));
        bool dense = low == 0 && high == strides_count(ndim, shape, 1) * itemsize;
        CHECK(strides_is_packed(ndim, shape, strides, itemsize) == dense);
        memset(memory, 0, sizeof memory);
        walk(ndim, shape, packed, mark, memory);
        for (ptrdiff_t i = 0; i < strides_count(ndim, shape, 1); i++)
            CHECK(memory[ROOM / 2 + i * itemsize] == 1);
    }
}

static void test_overlap(void)
{
    const ptrdiff_t shape[] = {3, 4};
    CHECK(strides_may_overlap(2, shape, (const ptrdiff_t[]){0, 4}, 4));
    CHECK(strides_may_overlap(2, shape, (const ptrdiff_t[]){4, 4}, 4));
    CHECK(strides_may_overlap(2, shape, (const ptrdiff_t[]){16, 2}, 4));
    CHECK(!strides_may_overlap(2, shape, (const ptrdiff_t[]){-16, 4}, 4));
    CHECK(!strides_may_overlap(2, (const ptrdiff_t[]){1, 4}, (const ptrdiff_t[]){0, 4}, 4));
}

/* Two views of which strides_may_meet() is false have no common byte; many disjoint views must be
 * recognized. */
static void test_meeting(void)
{
    static unsigned char memory[ROOM];
    static Images seen;
    int apart = 0;
    for (int round = 0; round < 20000; round++) {
        ptrdiff_t shape[2][DIMS], strides[2][DIMS], offset = random_below(64) - 32;
        StridedForm forms[2];
        bool meet = false;
        for (int k = 0; k < 2; k++) {
            ptrdiff_t itemsize = 1 + random_below(4);
            int ndim = random_view(shape[k], strides[k], itemsize);
            forms[k] = (StridedForm){ndim, shape[k], strides[k], itemsize};
        }
        memset(memory, 0, sizeof memory);
        for (ptrdiff_t byte = 0; byte < forms[0].itemsize; byte++)
            walk(forms[0].ndim, shape[0], strides[0], mark, memory + byte);
        walk(forms[1].ndim, shape[1], strides[1], remember, &seen);
        for (ptrdiff_t i = 0; i < strides_count(forms[1].ndim, shape[1], 1); i++)
            for (ptrdiff_t byte = 0; byte < forms[1].itemsize; byte++)
                meet = meet || memory[ROOM / 2 + offset + seen.offsets[i] + byte];
        bool may = strides_may_meet(&forms[0], &forms[1], offset);
        CHECK(may || !meet);
        apart += !may;
    }
    CHECK(apart > 1000);
    const ptrdiff_t matrix[] = {10, 4}, rows[] = {40, 4}, pairs[] = {80, 8}, column[] = {10, 6};
    const StridedForm left = {2, matrix, rows, 4}, right = {2, column, rows, 4}, real = {2, matrix, pairs, 4};
    CHECK(!strides_may_meet(&left, &right, 16) && strides_may_meet(&left, &right, 12));
    CHECK(!strides_may_meet(&real, &real, 4) && strides_may_meet(&real, &real, 8));
}

/* A reshaped view visits the same elements in the same order. */
static void test_reshape(void)
{
    static const ptrdiff_t shapes[][4] = {{24, 1, 1, 1}, {2, 12, 1, 1}, {4, 6, 1, 1},  {2, 3, 4, 1},
                                          {4, 3, 2, 1},  {2, 2, 2, 3},  {1, 24, 1, 1}, {3, 8, 1, 1}};
    static Images a, b;
    int possible = 0;
    for (int round = 0; round < 3000; round++) {
        ptrdiff_t strides[4], out[4], step = 4;
        const ptrdiff_t *shape = shapes[random_below(8)], *wanted = shapes[random_below(8)];
        for (int axis = 3; axis >= 0; axis--) {
            strides[axis] = random_below(8) ? step : -step;
            step = step * shape[axis] * (random_below(4) ? 1 : 2);
        }
        bool same = memcmp(shape, wanted, sizeof shapes[0]) == 0;
        bool done = strides_reshape('C', 4, shape, strides, 4, wanted, 4, out);
        CHECK(done || !same);
        possible += done;
        if (!done) continue;
        walk(4, shape, strides, remember, &a);
        walk(4, wanted, out, remember, &b);
        CHECK(memcmp(a.offsets, b.offsets, 24 * sizeof a.offsets[0]) == 0);
    }
    CHECK(possible > 500);
    ptrdiff_t out[3];
    CHECK(strides_reshape('F', 2, (const ptrdiff_t[]){6, 4}, (const ptrdiff_t[]){4, 24}, 3,
                          (const ptrdiff_t[]){2, 3, 4}, 4, out)
          && out[0] == 4 && out[1] == 8 && out[2] == 24);
    CHECK(!strides_reshape('C', 2, (const ptrdiff_t[]){6, 4}, (const ptrdiff_t[]){4, 24}, 1,
                           (const ptrdiff_t[]){24}, 4, out));
}

/* The bitwise or of all elements' addresses. */
typedef struct Addresses {
    uint64_t first, together;
} Addresses;

/* A visitor: adds the element's address. */
static void join(ptrdiff_t offset, ptrdiff_t number, void *data)
{
    Addresses *addresses = data;
    (void)number;
    addresses->together |= addresses->first + (uint64_t)offset;
}

static void test_alignment(void)
{
    for (int round = 0; round < 3000; round++) {
        ptrdiff_t shape[DIMS], strides[DIMS], itemsize = (ptrdiff_t)1 << random_below(5);
        int ndim = random_view(shape, strides, itemsize);
        Addresses addresses = {ROOM + (uint64_t)random_below(17), 0};
        walk(ndim, shape, strides, join, &addresses);
        ptrdiff_t found = strides_alignment(ndim, shape, strides, addresses.first), min = 16;
        while (addresses.together % (uint64_t)min) min /= 2;
        CHECK_EQUAL(found, min);
    }
    CHECK_EQUAL(strides_word(24), 8);
    CHECK_EQUAL(strides_word(6), 2);
    CHECK_EQUAL(strides_alignment(1, (const ptrdiff_t[]){0}, (const ptrdiff_t[]){3}, 1), 16);
    CHECK_EQUAL(strides_alignment(1, (const ptrdiff_t[]){1}, (const ptrdiff_t[]){3}, 8), 8);
}

int main(void)
{
    test_alignment();
    test_fill_and_contiguity();
    test_count();
    test_extents_that_overflow();
    test_views();
    test_overlap();
    test_meeting();
    test_reshape();
    return check_done();
}
