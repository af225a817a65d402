/* Objects with a free() that one thread may call while a driver call in another uses what they own.
 *
 * Such a call lies between usage_begin and usage_end. What is freed meanwhile counts as freed at once and is
 * released by the last call that comes out.
 */
#ifndef EXT_BASE_USAGE_H
#define EXT_BASE_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>

/* The count of calls under way and the flag that the object was freed, in one word. */
typedef struct Usage {
    atomic_long word;
} Usage;

enum { USAGE_FREED = 1, USAGE_CALL = 2 };

/* usage_init(): nothing is owned yet, which counts as freed. usage_own(): something is owned from now on. */
static inline void usage_init(Usage *usage) { atomic_init(&usage->word, USAGE_FREED); }
static inline void usage_own(Usage *usage) { atomic_store(&usage->word, 0); }
static inline bool usage_is_freed(Usage *usage) { return atomic_load(&usage->word) & USAGE_FREED; }

/* True if a call may use what is owned: usage_end() follows it. False if the object was freed. */
static inline bool usage_begin(Usage *usage)
{
    long word = atomic_load(&usage->word);
    while (!(word & USAGE_FREED))
        if (atomic_compare_exchange_weak(&usage->word, &word, word + USAGE_CALL)) return true;
    return false;
}

/* True if the object was freed meanwhile and this call was the last: the caller releases what was owned. */
static inline bool usage_end(Usage *usage)
{
    return atomic_fetch_sub(&usage->word, USAGE_CALL) == (USAGE_CALL | USAGE_FREED);
}

typedef enum UsageEnd { USAGE_RELEASE_NOW, USAGE_RELEASE_LATER, USAGE_WAS_FREED } UsageEnd;

/* Marks the object as freed. Says whether the caller releases what was owned, the last call does, or the
 * object was already freed. */
static inline UsageEnd usage_free(Usage *usage)
{
    long before = atomic_fetch_or(&usage->word, USAGE_FREED);
    if (before & USAGE_FREED) return USAGE_WAS_FREED;
    return before ? USAGE_RELEASE_LATER : USAGE_RELEASE_NOW;
}

#endif
