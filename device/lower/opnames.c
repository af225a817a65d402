/* Operations by name: the tables of exec/ are the vocabulary, so a new row there is found here at once. */
#include "lower/module.h"

#include <string.h>

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

void lower_index_ops(Lower *lower)
{
    lower->op_hash_size = 64;
    while (lower->op_hash_size < 2 * OP_COUNT) lower->op_hash_size *= 2;
    lower->op_hash = ARENA_ARRAY(&lower->scratch, uint16_t, lower->op_hash_size);
    for (uint32_t i = 0; i < lower->op_hash_size; i++) lower->op_hash[i] = OP_COUNT;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        uint32_t i = hash_name(exec_op_names[op]) & (lower->op_hash_size - 1);
        while (lower->op_hash[i] != OP_COUNT) i = (i + 1) & (lower->op_hash_size - 1);
        lower->op_hash[i] = (uint16_t)op;
    }
}

uint16_t lower_find_op(const Lower *lower, const char *name)
{
    uint32_t i = hash_name(name) & (lower->op_hash_size - 1);
    while (lower->op_hash[i] != OP_COUNT && strcmp(exec_op_names[lower->op_hash[i]], name))
        i = (i + 1) & (lower->op_hash_size - 1);
    return lower->op_hash[i];
}
