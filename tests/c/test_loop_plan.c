/* Loops over several arrays and copies between two, against walks element by element. */
#include "check.h"
#include "views.h"

#include <stdlib.h>

#include "core/layout/copy_plan.c"
#include "core/layout/elementwise_layout.c"
#include "core/layout/loop_plan.c"
#include "core/layout/strides.c"

enum { COUNT = 3 };

/* For each iteration of the loop a hash of the addresses of all operands' elements. */
static void walk_loop(const LoopPlan *plan, uint64_t *elements)
{
    static Images seen;
    for (ptrdiff_t i = 0; i < plan->size; i++) elements[i] = 0;
    for (int k = 0; k < plan->count; k++) {
        const LoopOperand *operand = &plan->operands[k];
        walk(plan->ndim, plan->shape, operand->strides, remember, &seen);
        for (ptrdiff_t i = 0; i < plan->size; i++)
            elements[i] = elements[i] * 65599 + operand->address + (uint64_t)seen.offsets[i];
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* A loop over three random strided operands, some of which repeat along axes. */
static void random_loop(LoopPlan *plan, LoopOperand *operands)
{
    ptrdiff_t shape[DIMS], strides[DIMS];
    int ndim = random_view(shape, strides, 1 + random_below(8));
    loop_start(plan, operands, ndim, shape);
    for (int k = 0; k < COUNT; k++) {
        ptrdiff_t other[DIMS], narrow[DIMS], own[DIMS];
        random_view(other, own, 4);
        if (random_below(2)) strides_fill(random_below(2) ? 'C' : 'F', ndim, shape, 4, own);
        for (int i = 0; i < ndim; i++) narrow[i] = k && !random_below(4) ? 1 : shape[i];
        loop_add(plan, k, 1000, &(StridedForm){ndim, narrow, k ? own : strides, 4});
    }
}

/* A collapsed loop visits the same elements, in the same order unless an order was asked for. */
static void test_collapse(void)
{
    static uint64_t before[ROOM], after[ROOM];
    LoopOperand operands[COUNT];
    LoopPlan plan;
    int fewer = 0;
    for (int round = 0; round < 3000; round++) {
        int order = random_below(4);
        random_loop(&plan, operands);
        int ndim = plan.ndim;
        walk_loop(&plan, before);
        loop_collapse(&plan, order);
        fewer += plan.ndim < ndim;
        walk_loop(&plan, after);
        for (int i = 0; i < plan.ndim; i++) {
            CHECK(plan.shape[i] > 1 && (!(order & LOOP_REVERSE) || operands[0].strides[i] >= 0));
            CHECK(!(order & LOOP_SORT) || i == 0
                  || strides_distance(operands[0].strides[i])
                         <= strides_distance(operands[0].strides[i - 1]));
        }
        if (order) {
            qsort(before, (size_t)plan.size, sizeof *before, compare);
            qsort(after, (size_t)plan.size, sizeof *after, compare);
        }
        CHECK(memcmp(before, after, (size_t)plan.size * sizeof *before) == 0);
    }
    CHECK(fewer > 500);
}

static void test_repeated_axes_are_outermost(void)
{
    const ptrdiff_t shape[] = {3, 4, 5}, strides[] = {4, 0, 12}, other[] = {80, 20, 4};
    LoopOperand operands[2];
    LoopPlan plan;
    loop_start(&plan, operands, 3, shape);
    loop_add(&plan, 0, 0, &(StridedForm){3, shape, strides, 4});
    loop_add(&plan, 1, 0, &(StridedForm){3, shape, other, 4});
    loop_collapse(&plan, LOOP_SORT);
    CHECK(plan.ndim == 3 && plan.shape[0] == 4 && plan.shape[1] == 5 && plan.shape[2] == 3);
    CHECK(operands[1].strides[0] == 20 && operands[1].strides[2] == 80);
}

/* The layout chosen for two operands with the same shape, elements of 4 bytes, and strides a and b, of which
 * the first is at address 0. *marked is that of layout_choose(): bit k is for operand k. */
static const ElementwiseLayout *choose(const ptrdiff_t shape[2], const ptrdiff_t a[2], const ptrdiff_t b[2],
                                       uint64_t address, uint64_t *marked)
{
    LoopOperand operands[2];
    LoopPlan plan;
    loop_start(&plan, operands, 2, shape);
    loop_add(&plan, 0, 0, &(StridedForm){2, shape, a, 4});
    loop_add(&plan, 1, address, &(StridedForm){2, shape, b, 4});
    loop_collapse(&plan, LOOP_REVERSE | LOOP_SORT);
    return &elementwise_layouts[layout_choose(&plan, marked)];
}

/* Which layout is chosen by the operands' strides, alignment and addresses. */
static void test_choice(void)
{
    enum { SECOND = 1 << 1 }; /* the bit of the second operand in `marked` */
    const ptrdiff_t shape[] = {32, 64}, rows[] = {256, 4}, columns[] = {4, 128}, one[] = {0, 0},
                    gaps[] = {512, 8};
    const ptrdiff_t apart[] = {512, 4}, again[] = {0, 4}, single[] = {4, 0}, narrow[] = {32, 60};
    const ptrdiff_t reversed[] = {-256, -4}, far[] = {(ptrdiff_t)1 << 40, 4};
    uint64_t marked;
    CHECK(choose(shape, rows, rows, 16, &marked)->kind == LAYOUT_VECTOR && !marked);
    CHECK(choose(shape, columns, columns, 16, &marked)->kind == LAYOUT_VECTOR);
    CHECK(choose(shape, reversed, reversed, 0, &marked)->kind == LAYOUT_FLAT); /* from -8188 on */
    CHECK(choose(shape, rows, rows, 8, &marked)->kind == LAYOUT_FLAT && !marked);
    CHECK(choose(shape, rows, one, 16, &marked)->kind == LAYOUT_FLAT && marked == SECOND);
    CHECK(choose(shape, rows, columns, 16, &marked)->kind == LAYOUT_TILES && marked == SECOND);
    CHECK(choose(shape, rows, apart, 16, &marked)->kind == LAYOUT_ROWS && !marked);
    CHECK(choose(shape, rows, again, 16, &marked)->kind == LAYOUT_ROWS && !marked);
    CHECK(choose(shape, rows, single, 8, &marked)->kind == LAYOUT_ROWS && marked == SECOND);
    CHECK(choose(shape, rows, apart, 8, &marked)->kind == LAYOUT_STRIDED && !marked);
    CHECK(choose(narrow, rows, apart, 16, &marked)->kind == LAYOUT_STRIDED && !marked);
    const ElementwiseLayout *row = choose(shape, rows, gaps, 16, &marked);
    CHECK(row->kind == LAYOUT_STRIDED && row->axes == 1 && !row->wide && !marked);
    row = choose(shape, rows, far, 16, &marked);
    CHECK(row->kind == LAYOUT_STRIDED && row->axes == 2 && row->wide);
}

static void test_parameters(void)
{
    const ptrdiff_t shape[] = {3, 5}, a[] = {20, 4}, b[] = {40, 8};
    LoopOperand operands[2];
    LoopPlan plan;
    _Alignas(16) unsigned char block[512];
    uint64_t number;
    int layout = find_layout(LAYOUT_STRIDED, 3, false);
    loop_start(&plan, operands, 2, shape);
    loop_add(&plan, 0, 4096, &(StridedForm){2, shape, a, 4});
    loop_add(&plan, 2, 8192, &(StridedForm){2, shape, b, 4});
    layout_pack(&plan, 3, layout, 5, block);
    /* 16 + 3 * 16 + 8 * 3 * 3 + 8 * 3 + 12 * 3 = 196, rounded up to a multiple of 16 */
    CHECK_EQUAL(layout_size(3, layout), 208);
    const uint64_t expected[] = {15, 5, 4096, 0, 0, 0, 8192, 0, 0, 20, 4, 0, 0, 0, 0, 40, 8, 1, 3, 5};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        memcpy(&number, block + i * sizeof number, sizeof number);
        CHECK_EQUAL(number, expected[i]);
    }
}

static void test_dividers(void)
{
    for (int round = 0; round < 10000; round++) {
        uint32_t divisor = 1 + (uint32_t)random_below(round % 2 ? 100 : INT32_MAX - 1),
                 x = (uint32_t)random_below(INT32_MAX);
        Divider by = divider_of(divisor);
        uint64_t high = (uint64_t)x * by.factor >> 32;
        CHECK_EQUAL((high + x) >> by.shift, x / divisor);
    }
}

/* Executes the plan's 2D copies and compares the result with a copy element by element. */
static void test_copies(void)
{
    static unsigned char from[ROOM], got[ROOM], expected[ROOM];
    static Images a, b;
    for (int i = 0; i < ROOM; i++) from[i] = (unsigned char)random_below(256);
    for (int round = 0; round < 3000; round++) {
        ptrdiff_t shape[DIMS], strides[DIMS], other[DIMS], itemsize = 1 + random_below(8),
                                                           index[STRIDES_MAX_DIMS] = {0};
        int ndim = random_view(shape, strides, itemsize);
        CopyPlan plan;
        strides_fill(random_below(2) ? 'C' : 'F', ndim, shape, itemsize, other);
        if (random_below(2) && ndim)
            other[random_below(ndim)] *= random_below(3) - 1; /* a source may repeat or run backwards */
        CHECK(copy_plan_make(&plan, ndim, shape, strides, other, itemsize));
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        walk(ndim, shape, strides, remember, &a);
        walk(ndim, shape, other, remember, &b);
        for (ptrdiff_t i = 0; i < count_elements(ndim, shape); i++)
            memcpy(expected + ROOM / 2 + a.offsets[i], from + ROOM / 2 + b.offsets[i], (size_t)itemsize);
        ptrdiff_t to_offset = plan.to_start, from_offset = plan.from_start, calls = 0;
        do {
            calls++;
            CHECK(plan.height == 1 || (plan.to_pitch >= plan.width && plan.from_pitch >= plan.width));
            for (ptrdiff_t row = 0; row < plan.height; row++)
                memcpy(got + ROOM / 2 + to_offset + row * plan.to_pitch,
                       from + ROOM / 2 + from_offset + row * plan.from_pitch, (size_t)plan.width);
        } while (copy_plan_next(&plan, index, &to_offset, &from_offset));
        CHECK(calls == plan.calls);
        CHECK(memcmp(got, expected, sizeof got) == 0);
    }
}

static void test_copy_joins_axes(void)
{
    const ptrdiff_t shape[] = {4, 5, 6}, packed[] = {120, 24, 4}, gap[] = {240, 24, 4};
    CopyPlan plan;
    CHECK(copy_plan_make(&plan, 3, shape, packed, packed, 4) && plan.width == 480 && plan.calls == 1);
    CHECK(copy_plan_make(&plan, 3, shape, packed, gap, 4));
    CHECK(plan.width == 120 && plan.height == 4 && plan.to_pitch == 120 && plan.from_pitch == 240
          && plan.calls == 1);
    CHECK(!copy_plan_make(&plan, 3, shape, (const ptrdiff_t[]){0, 24, 4}, packed, 4));
}

int main(void)
{
    test_collapse();
    test_repeated_axes_are_outermost();
    test_choice();
    test_parameters();
    test_dividers();
    test_copies();
    test_copy_joins_axes();
    return check_done();
}
