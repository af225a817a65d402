/* Shadow bits of uninitialized bytes: see unwritten.h. */
#define _GNU_SOURCE
#include "exec/memory/unwritten.h"

#include <string.h>
#include <sys/mman.h>

enum { BYTE_BITS = 8 };
#define LARGEST_OS_PAGE UINT64_C(65536) /* the system's pages are of this size or a fraction of it */
#define LARGE_BYTES (UINT64_C(1) << 20) /* of bits: when so many are cleared, their pages are returned */

bool unwritten_open(Unwritten *u, uint64_t start, uint64_t size)
{
    uint64_t bytes = (size + BYTE_BITS - 1) / BYTE_BITS;
    void *bits = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *u = (Unwritten){0};
    if (bits == MAP_FAILED) return false;
    *u = (Unwritten){start, size, bits};
    return true;
}

void unwritten_close(Unwritten *u)
{
    if (u->bits) munmap(u->bits, u->size ? (u->size + BYTE_BITS - 1) / BYTE_BITS : 1);
    *u = (Unwritten){0};
}

/* Finds the part [*first, *end) of [address, address + size) that is in the range, as offsets from its
 * start. False if it is empty. */
static bool clip_to_range(const Unwritten *u, uint64_t address, uint64_t size, uint64_t *first, uint64_t *end)
{
    if (address < u->start) {
        uint64_t before = u->start - address;
        if (size <= before) return false;
        size -= before;
        address = u->start;
    }
    *first = address - u->start;
    if (*first >= u->size || !size) return false;
    *end = size < u->size - *first ? *first + size : u->size;
    return true;
}

static void change_bits(uint8_t *byte, uint8_t mask, bool set)
{
    if (set)
        __atomic_fetch_or(byte, mask, __ATOMIC_RELAXED);
    else if (__atomic_load_n(byte, __ATOMIC_RELAXED) & mask)
        __atomic_fetch_and(byte, (uint8_t)~mask, __ATOMIC_RELAXED);
}

/* Sets or clears whole bytes of bits. If many are cleared, whole pages of them are returned to the
 * system, which read as zeros from then on. */
static void change_bytes(uint8_t *first, uint8_t *end, bool set)
{
    uint64_t page = ((uintptr_t)first + LARGEST_OS_PAGE - 1) & ~(LARGEST_OS_PAGE - 1),
             last = (uintptr_t)end & ~(LARGEST_OS_PAGE - 1);
    if (set || (uint64_t)(end - first) < LARGE_BYTES) {
        memset(first, set ? 0xff : 0, (size_t)(end - first));
        return;
    }
    memset(first, 0, page - (uintptr_t)first);
    madvise((void *)(uintptr_t)page, last - page, MADV_DONTNEED);
    memset((void *)(uintptr_t)last, 0, (uintptr_t)end - last);
}

static void change_range(const Unwritten *u, uint64_t address, uint64_t size, bool set)
{
    uint64_t first, end;
    if (!clip_to_range(u, address, size, &first, &end)) return;
    uint8_t *low = u->bits + first / BYTE_BITS, *high = u->bits + end / BYTE_BITS;
    uint8_t head = (uint8_t)(0xff << first % BYTE_BITS), tail = (uint8_t)((1u << end % BYTE_BITS) - 1);
    if (low == high) {
        change_bits(low, head & tail, set);
        return;
    }
    if (head != 0xff) change_bits(low++, head, set);
    if (low < high) change_bytes(low, high, set);
    if (tail) change_bits(high, tail, set);
}

void unwritten_set(const Unwritten *u, uint64_t address, uint64_t size)
{
    change_range(u, address, size, true);
}

void unwritten_clear(const Unwritten *u, uint64_t address, uint64_t size)
{
    change_range(u, address, size, false);
}

bool unwritten_find(const Unwritten *u, uint64_t address, uint64_t size, uint64_t *first)
{
    uint64_t at, end;
    if (!clip_to_range(u, address, size, &at, &end)) return false;
    while (at < end) {
        uint8_t bits = __atomic_load_n(&u->bits[at / BYTE_BITS], __ATOMIC_RELAXED) >> at % BYTE_BITS;
        if (bits) {
            at += (uint64_t)__builtin_ctz(bits);
            *first = u->start + at;
            return at < end;
        }
        at += BYTE_BITS - at % BYTE_BITS;
    }
    return false;
}
