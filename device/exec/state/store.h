/* The memory of a warp, which it borrows from its worker from its first instruction to its last: warps that
 * run one after another use the same, warm registers. */
#ifndef DEVICE_EXEC_STATE_STORE_H
#define DEVICE_EXEC_STATE_STORE_H

#include "exec/state/worker.h"

typedef struct WarpStore {
    struct WarpStore *next;
    uint8_t *registers;
    size_t registers_size;
    uint8_t *local;
    size_t local_size; /* mapped, never moved: generic addresses point into it */
} WarpStore;

/* Lends the warp registers and local memory that fit its grid. False if out of memory: store_return()
 * takes back what was lent. */
bool store_borrow(Warp *warp, Worker *worker);
void store_return(Warp *warp, Worker *worker);
/* Gives a running warp a register file of at least that many bytes, with the same contents, and moves the
 * base of the running frame to it. False if out of memory. */
bool store_grow(Warp *warp, size_t registers);
void store_free(WarpStore *store);

#endif
