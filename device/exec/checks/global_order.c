/* What units have released and acquired, by one clock for all units of a grid. See global_race.h. */
#include <pthread.h>
#include <stdlib.h>

#include "exec/checks/global_race.h"

typedef struct Unit {
    uint32_t now; /* the number of its interval */
    uint32_t acquired, released; /* the latest times up to which, and at which, it did so */
    uint32_t count, capacity; /* count: its intervals that were released */
    uint32_t *times; /* when each of them was */
} Unit;

struct GlobalOrder {
    pthread_mutex_t lock;
    uint32_t clock;
    uint64_t count;
    Unit *units;
    bool failed; /* if out of memory all counts as ordered */
};

GlobalOrder *global_order_create(uint64_t units)
{
    GlobalOrder *order = calloc(1, sizeof *order);
    if (!order) return NULL;
    pthread_mutex_init(&order->lock, NULL);
    order->count = units;
    order->units = calloc(units, sizeof *order->units);
    if (order->units) return order;
    global_order_destroy(order);
    return NULL;
}

void global_order_destroy(GlobalOrder *order)
{
    if (!order) return;
    for (uint64_t u = 0; order->units && u < order->count; u++) free(order->units[u].times);
    pthread_mutex_destroy(&order->lock);
    free(order->units);
    free(order);
}

/* Called only by the worker that runs the unit, which alone changes the time. */
uint32_t global_order_now(const GlobalOrder *order, uint32_t unit) { return order->units[unit].now; }

void global_order_fence(GlobalOrder *order, uint32_t unit) { order->units[unit].now++; }

/* Makes room for the times of all intervals that have ended. False if out of memory. */
static bool has_room(Unit *unit)
{
    if (unit->now <= unit->capacity) return true;
    uint32_t capacity = unit->now < 4 ? 4 : unit->now + unit->now / 2;
    uint32_t *times = realloc(unit->times, capacity * sizeof *times);
    if (!times) return false;
    unit->times = times;
    unit->capacity = capacity;
    return true;
}

/* There is nothing new to release without a fence since the last release. */
uint32_t global_order_release(GlobalOrder *order, uint32_t number)
{
    Unit *unit = &order->units[number];
    if (unit->count == unit->now) return unit->released;
    pthread_mutex_lock(&order->lock);
    unit->released = ++order->clock;
    order->failed |= !has_room(unit);
    for (; !order->failed && unit->count < unit->now; unit->count++)
        unit->times[unit->count] = unit->released;
    pthread_mutex_unlock(&order->lock);
    return unit->released;
}

void global_order_acquire(GlobalOrder *order, uint32_t unit, uint32_t time)
{
    if (order->units[unit].acquired < time) order->units[unit].acquired = time;
}

bool global_order_holds(GlobalOrder *order, uint32_t first, uint32_t interval, uint32_t second)
{
    const Unit *unit = &order->units[first];
    if (first == second) return true;
    pthread_mutex_lock(&order->lock);
    bool holds = interval < unit->count && unit->times[interval] <= order->units[second].acquired;
    holds |= order->failed;
    pthread_mutex_unlock(&order->lock);
    return holds;
}
