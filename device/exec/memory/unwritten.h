/* Shadow memory for uninitialized bytes: one bit a byte of a range of addresses, set where nothing was
 * written.
 *
 * The bits' pages get memory when they are first written, so that a large range costs little. Several
 * threads may set and clear bits at a time.
 */
#ifndef DEVICE_EXEC_MEMORY_UNWRITTEN_H
#define DEVICE_EXEC_MEMORY_UNWRITTEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Unwritten {
    uint64_t start, size; /* size 0: nothing is remembered */
    uint8_t *bits;
} Unwritten;

/* Begins with all bytes written. false without address space. */
bool unwritten_open(Unwritten *u, uint64_t start, uint64_t size);
void unwritten_close(Unwritten *u);

/* Bytes outside the range are ignored; they count as written. */
void unwritten_set(const Unwritten *u, uint64_t address, uint64_t size);
void unwritten_clear(const Unwritten *u, uint64_t address, uint64_t size);
/* True when some byte is unwritten; *first is the first of them. */
bool unwritten_find(const Unwritten *u, uint64_t address, uint64_t size, uint64_t *first);

#endif
