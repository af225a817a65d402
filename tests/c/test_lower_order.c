/* The order of blocks, against its definition checked by brute force on hand-written and random graphs.
 *
 * A weak topological order lists the strongly connected components of a graph in topological order, each one
 * contiguous; the first block of a component with a cycle is its head, and without the head the rest is
 * ordered in the same way.
 */
#include "check.h"

#include "lower/passes/order.h"

#include <stdbool.h>
#include <string.h>

enum { MAX = 16, MAX_EDGES = 64 };

typedef struct Case {
    uint32_t count, edges;
    uint32_t from[MAX_EDGES], to[MAX_EDGES];
} Case;

static uint32_t random_state = 12345;
static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* reach[a][b]: a path of one edge or more inside the set. */
static void close_paths(const Case *c, const bool *in, bool reach[MAX][MAX])
{
    memset(reach, 0, sizeof(bool) * MAX * MAX);
    for (uint32_t e = 0; e < c->edges; e++)
        if (in[c->from[e]] && in[c->to[e]]) reach[c->from[e]][c->to[e]] = true;
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t a = 0; a < c->count; a++)
            for (uint32_t b = 0; b < c->count; b++)
                if (reach[a][k] && reach[k][b]) reach[a][b] = true;
}

/* Whether order[first, last) is a weak topological order of the blocks in it. */
static bool is_weak_order(const Case *c, const uint32_t *order, uint32_t first, uint32_t last)
{
    bool in[MAX] = {false}, reach[MAX][MAX];
    for (uint32_t i = first; i < last; i++) in[order[i]] = true;
    close_paths(c, in, reach);
    for (uint32_t i = first; i < last;) {
        uint32_t head = order[i], end = i + 1;
        while (end < last && reach[head][order[end]] && reach[order[end]][head]) end++;
        for (uint32_t j = end; j < last; j++)
            if (reach[order[j]][head]) return false; /* split component, or an edge backwards out of a loop */
        if (reach[head][head] && !is_weak_order(c, order, i + 1, end)) return false;
        i = end;
    }
    return true;
}

/* Orders the blocks of the case by lower_order(); returns how many there are in the order, 0 without
 * memory. */
static uint32_t order_case(const Case *c, uint32_t *order)
{
    Arena arena = {.chunks = NULL};
    jmp_buf failed;
    if (setjmp(failed)) return 0;
    arena.on_failure = &failed;
    uint32_t start[MAX + 1], next[MAX_EDGES], edge = 0;
    for (uint32_t b = 0; b < c->count; b++) {
        start[b] = edge;
        for (uint32_t e = 0; e < c->edges; e++)
            if (c->from[e] == b) next[edge++] = c->to[e];
    }
    start[c->count] = edge;
    BlockGraph graph = {c->count, start, next};
    uint32_t count = lower_order(&arena, &graph, order);
    arena_free(&arena);
    return count;
}

/* Whether lower_order() returns each reachable block once, in a weak topological order that starts at 0. */
static bool is_ordered_correctly(const Case *c)
{
    uint32_t order[MAX], reached = 1;
    uint32_t count = order_case(c, order);
    bool in[MAX], reach[MAX][MAX], seen[MAX] = {false};
    memset(in, 1, sizeof in);
    close_paths(c, in, reach);
    for (uint32_t b = 1; b < c->count; b++) reached += reach[0][b];
    if (count != reached || order[0] != 0) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (seen[order[i]] || (order[i] && !reach[0][order[i]])) return false;
        seen[order[i]] = true;
    }
    return is_weak_order(c, order, 0, count);
}

static void test_written_graphs(void)
{
    uint32_t order[MAX];
    /* if, else, join: the fall-through comes next, the join last */
    Case diamond = {4, 4, {0, 0, 1, 2}, {1, 2, 3, 3}};
    CHECK(order_case(&diamond, order) == 4);
    CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2 && order[3] == 3);
    /* a slow path that stands after the exit in the text is moved before the join */
    Case slow = {4, 4, {0, 0, 1, 3}, {1, 3, 2, 1}};
    CHECK(order_case(&slow, order) == 4);
    CHECK(order[0] == 0 && order[1] == 3 && order[2] == 1 && order[3] == 2);
    /* a loop with a break in the middle: the exit comes after all of it */
    Case loop = {5, 6, {0, 1, 1, 2, 2, 3}, {1, 2, 4, 3, 4, 1}};
    CHECK(order_case(&loop, order) == 5);
    CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2 && order[3] == 3 && order[4] == 4);
    /* unreachable blocks are dropped; a block that loops on itself */
    Case self = {3, 2, {0, 0}, {0, 2}};
    CHECK(order_case(&self, order) == 2);
    CHECK(order[0] == 0 && order[1] == 2);
    CHECK(is_ordered_correctly(&diamond) && is_ordered_correctly(&slow) && is_ordered_correctly(&loop)
          && is_ordered_correctly(&self));
}

/* is_weak_order() refuses an order that splits a loop, and accepts the right one. */
static void test_checker(void)
{
    Case loop = {4, 4, {0, 1, 2, 2}, {1, 2, 1, 3}};
    uint32_t split[] = {0, 1, 3, 2}, good[] = {0, 1, 2, 3};
    CHECK(!is_weak_order(&loop, split, 0, 4));
    CHECK(is_weak_order(&loop, good, 0, 4));
}

static void test_random(void)
{
    for (int round = 0; round < 20000; round++) {
        Case c = {.count = 1 + random_below(MAX - 1)};
        c.edges = random_below(MAX_EDGES / 2);
        for (uint32_t e = 0; e < c.edges; e++) {
            c.from[e] = random_below(c.count);
            c.to[e] = random_below(c.count);
        }
        if (!is_ordered_correctly(&c)) {
            CHECK(!"a random graph is ordered wrongly");
            return;
        }
    }
}

/* A chain of 200,000 blocks is ordered without a stack overflow: the passes do not recurse with its depth. */
static void test_deep(void)
{
    enum { DEEP = 200000 };
    Arena arena = {.chunks = NULL};
    jmp_buf failed;
    if (setjmp(failed)) {
        CHECK(!"out of memory");
        return;
    }
    arena.on_failure = &failed;
    uint32_t *start = ARENA_ARRAY(&arena, uint32_t, DEEP + 1), *next = ARENA_ARRAY(&arena, uint32_t, DEEP);
    uint32_t *order = ARENA_ARRAY(&arena, uint32_t, DEEP);
    for (uint32_t b = 0; b <= DEEP; b++) start[b] = b < DEEP ? b : DEEP - 1;
    for (uint32_t b = 0; b + 1 < DEEP; b++) next[b] = b + 1;
    BlockGraph graph = {DEEP, start, next};
    CHECK(lower_order(&arena, &graph, order) == DEEP);
    CHECK(order[0] == 0 && order[DEEP - 1] == DEEP - 1);
    arena_free(&arena);
}

int main(void)
{
    test_written_graphs();
    test_checker();
    test_random();
    test_deep();
    return check_done();
}
