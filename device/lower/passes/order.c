/* Weak topological order after Bourdoncle (Efficient chaotic iteration strategies with widenings, 1993).
 *
 * A depth-first search finds the strongly connected components; each non-trivial one is laid out as its head
 * followed by the order of the rest, found by searching again from the head. Every edge then goes forward,
 * except for those back to the head of a loop around it, and each loop is contiguous. The search has a stack
 * of its own, since a program may nest as deep as it likes. The order is written from its end to its start.
 */
#include "lower/passes/order.h"

#include <stdbool.h>

enum { NOT_SEEN = 0 };
#define DONE UINT32_MAX

typedef struct Visit {
    uint32_t block;
    uint32_t left;      /* successors not looked at yet; the last one is next */
    uint32_t head;      /* lowest number on the stack that the block is known to reach */
    bool loop;          /* part of a cycle */
    bool inside;        /* second round: orders the component that the block is head of */
} Visit;

typedef struct OrderSearch {
    const BlockGraph *graph;
    uint32_t *number;   /* by block: order of discovery, NOT_SEEN or DONE */
    uint32_t discovered;
    uint32_t *stack, stack_count; /* blocks found whose component is not complete */
    Visit *visits;      /* the path of the search: its own stack */
    uint32_t visit_count, visit_capacity;
    uint32_t *order, position; /* the blocks from `position` on are written */
    Arena *scratch;
} OrderSearch;

static uint32_t successor_count(const BlockGraph *graph, uint32_t block)
{
    return graph->start[block + 1] - graph->start[block];
}

/* Starts the visit of a block. */
static void search_push(OrderSearch *s, uint32_t block)
{
    s->visits = arena_grow(s->scratch, s->visits, s->visit_count, &s->visit_capacity, sizeof(Visit));
    s->number[block] = ++s->discovered;
    s->stack[s->stack_count++] = block;
    s->visits[s->visit_count++] =
        (Visit){.block = block, .left = successor_count(s->graph, block), .head = s->number[block]};
}

/* Takes a component from the stack. Its members, except for the head, become NOT_SEEN, so that they are
 * searched again inside it. */
static void search_reopen(OrderSearch *s, uint32_t head)
{
    uint32_t member;
    while ((member = s->stack[--s->stack_count]) != head) s->number[member] = NOT_SEEN;
}

/* Called when all successors of the top visit were looked at. True if it is over; a head of a loop is visited
 * once more, to order the loop. */
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

/* Notes that a block on the path reaches number `head`; DONE, which is larger than all, changes nothing. */
static void search_reached(Visit *v, uint32_t head)
{
    if (v->inside || head > v->head) return;
    v->head = head;
    v->loop = true;
}

/* Looks at one more successor of the top visit, or ends that visit. */
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
    /* The visit below gets the head of an incomplete component; a complete one is DONE. */
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
