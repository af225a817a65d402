/* The map whose keys are arrays of words, against a list that is searched linearly. */
#include "check.h"

#include <stdlib.h>

#include "core/word_map.c"

enum { KEYS = 3000, LONGEST = 9 };

typedef struct Known {
    uint64_t words[LONGEST];
    size_t length;
    int *value;
} Known;

static Known known[KEYS];
static int values[2 * KEYS];

/* A key as of addresses and small numbers: keys are equal in most bits, and some are prefixes of other
 * keys. */
static void make_key(Known *key, unsigned number)
{
    key->length = number % (LONGEST + 1);
    for (size_t i = 0; i < key->length; i++)
        key->words[i] = i == 0 ? UINT64_C(0x7f0000000000) + 64 * (uint64_t)(number / 10) : number >> i & 1;
    if (key->length > 1) key->words[key->length - 1] = (uint64_t)number << 32;
}

static int *find_in_list(const Known *key, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (known[i].length == key->length
            && memcmp(known[i].words, key->words, key->length * sizeof *key->words) == 0)
            return known[i].value;
    return NULL;
}

/* Every key is found with its latest value, and replacing one returns the previous value. */
static void test_find_and_put(void)
{
    WordMap map = {0};
    unsigned count = 0;
    for (unsigned number = 0; number < KEYS; number++) {
        Known key = {{0}, 0, &values[number]};
        make_key(&key, number);
        int *before = find_in_list(&key, count);
        void *replaced = &map;
        CHECK(word_map_find(&map, key.words, key.length) == before);
        CHECK(word_map_put(&map, key.words, key.length, key.value, &replaced));
        CHECK(replaced == before);
        if (before)
            for (unsigned i = 0; i < count; i++)
                known[i].value = known[i].value == before ? key.value : known[i].value;
        else
            known[count++] = key;
    }
    CHECK_EQUAL(map.count, count);
    for (unsigned i = 0; i < count; i++)
        CHECK(word_map_find(&map, known[i].words, known[i].length) == known[i].value);
    word_map_clear(&map);
}

/* word_map_next() returns every value once. */
static void test_iteration(void)
{
    WordMap map = {0};
    void *before;
    bool seen[KEYS] = {false};
    size_t position = 0, count = 0;
    for (uint64_t word = 0; word < KEYS; word++) word_map_put(&map, &word, 1, &values[word], &before);
    for (int *value; (value = word_map_next(&map, &position)); count++) {
        CHECK(!seen[value - values]);
        seen[value - values] = true;
    }
    CHECK_EQUAL(count, KEYS);
    word_map_clear(&map);
    position = 0;
    CHECK(!word_map_next(&map, &position));
    CHECK_EQUAL(map.count, 0);
}

/* Hashes of 1024 aligned addresses are spread: no slot of 1024 gets 12 of them. */
static void test_hash_spreads_addresses(void)
{
    size_t max = 0, uses[1024] = {0};
    for (uint64_t i = 0; i < 1024; i++) {
        uint64_t words[] = {UINT64_C(0x5500001000) + 4096 * i, 7};
        size_t use = ++uses[hash_of(words, 2) % 1024];
        if (use > max) max = use;
    }
    CHECK(max < 12);
}

int main(void)
{
    CHECK_GROUP(test_find_and_put);
    CHECK_GROUP(test_iteration);
    CHECK_GROUP(test_hash_spreads_addresses);
    return check_done();
}
