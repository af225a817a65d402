/* Weak topological order after Bourdoncle (Efficient chaotic iteration strategies with widenings, 1993).
 *
 * A depth-first search finds the strongly connected components; each non-trivial one is laid out as its head
 * followed by the order of the rest, found by searching again from the head. Every edge then goes forward
 * but those back to the head of a loop around it, and each loop is contiguous. The search keeps its own
 * stack, as depth is whatever the program makes it. The order is written from its end to its start.
 */
#include "lower/passes/order.h"

#include <stdbool.h>

enum { NOT_SEEN = 0 };
#define DONE UINT32_MAX

typedef struct Visit {
    uint32_t block;
    uint32_t left;      /* successors still to look at: the last ones first */
    uint32_t head;      /* lowest number that the block is known to reach on the stack */
    bool loop;          /* part of a cycle */
    bool inside;        /* second round: orders the component that the block is head of */
} Visit;

typedef struct OrderSearch {
    const BlockGraph *graph;
    uint32_t *number;   /* order of discovery, NOT_SEEN or DONE */
    uint32_t discovered;
    uint32_t *stack, stack_count;
    Visit *visits;
    uint32_t visit_count, visit_capacity;
    uint32_t *order, position;
    Arena *scratch;
} OrderSearch;

static uint32_t successor_count(const BlockGraph *graph, uint32_t block)
{
    return graph->start[block + 1] - graph->start[block];
}

static void search_push(OrderSearch *s, uint32_t block)
{
    s->visits = arena_grow(s->scratch, s->visits, s->visit_count, &s->visit_capacity, sizeof(Visit));
    s->number[block] = ++s->discovered;
    s->stack[s->stack_count++] = block;
    s->visits[s->visit_count++] =
        (Visit){.block = block, .left = successor_count(s->graph, block), .head = s->number[block]};
}

/* Forgets the members of the component but its head, so that they are searched again inside it. */
static void search_reopen(OrderSearch *s, uint32_t head)
{
    uint32_t member;
    while ((member = s->stack[--s->stack_count]) != head) s->number[member] = NOT_SEEN;
}

/* True when the visit is over; called when all successors of the top were visited. */
static bool search_finish(OrderSearch *s, Visit *v)
{
    if (v->inside) {
        s->order[--s->position] = v->block;
        return true;
    }
    if (v->head != s->number[v->block]) return true;
    if (v->loop) {
        search_reopen(s, v->block);
        v->left = successor_count(s->graph, v->block);
        v->inside = true;
    } else {
        s->stack_count--;
        s->order[--s->position] = v->block;
    }
    s->number[v->block] = DONE;
    return !v->inside;
}

static void search_reached(Visit *v, uint32_t head)
{
    if (v->inside || head > v->head) return;
    v->head = head;
    v->loop = true;
}

static void search_step(OrderSearch *s)
{
    Visit *v = &s->visits[s->visit_count - 1];
    if (v->left) {
        uint32_t next = s->graph->next[s->graph->start[v->block] + --v->left];
        if (s->number[next] == NOT_SEEN)
            search_push(s, next);
        else
            search_reached(v, s->number[next]);
        return;
    }
    if (!search_finish(s, v)) return;
    uint32_t head = v->inside || s->number[v->block] == DONE ? DONE : v->head;
    if (--s->visit_count) search_reached(&s->visits[s->visit_count - 1], head);
}

uint32_t lower_order(Arena *scratch, const BlockGraph *graph, uint32_t *order)
{
    if (!graph->count) return 0;
    OrderSearch s = {.graph = graph, .scratch = scratch, .order = order, .position = graph->count};
    s.number = ARENA_ZEROS(scratch, uint32_t, graph->count);
    s.stack = ARENA_ARRAY(scratch, uint32_t, graph->count + 1);
    search_push(&s, 0);
    while (s.visit_count) search_step(&s);
    uint32_t reached = graph->count - s.position;
    for (uint32_t i = 0; i < reached; i++) order[i] = order[s.position + i];
    return reached;
}
