/* The time of %globaltimer, %clock and nanosleep: nanoseconds of the host's monotonic clock. */
#ifndef DEVICE_EXEC_STATE_CLOCK_H
#define DEVICE_EXEC_STATE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t exec_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
