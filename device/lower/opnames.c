/* Operations by name, which select/alu.c makes of a mnemonic: a hash table, made once. */
#include "lower/module.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 8192 };
_Static_assert(2 * OP_COUNT < SLOTS, "an index of all operations");

static uint16_t slots[SLOTS]; /* OP_COUNT: free */

/* FNV-1a of 32 bits. */
static uint32_t hash_name(const char *name)
{
    enum { PRIME = 16777619 };
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * PRIME;
    return hash;
}

/* The slot of a name, or the free one where it belongs. */
static uint16_t *slot_of(const char *name)
{
    uint32_t i = hash_name(name) % SLOTS;
    while (slots[i] != OP_COUNT && strcmp(exec_op_names[slots[i]], name)) i = (i + 1) % SLOTS;
    return &slots[i];
}

static void index_ops(void)
{
    for (uint32_t i = 0; i < SLOTS; i++) slots[i] = OP_COUNT;
    for (uint32_t op = 0; op < OP_COUNT; op++) *slot_of(exec_op_names[op]) = (uint16_t)op;
}

uint16_t lower_find_op(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, index_ops);
    return *slot_of(name);
}
