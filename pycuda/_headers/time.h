/* clock and clock64 are NVRTC's own. */
#ifndef PYCUDA_TIME_H
#define PYCUDA_TIME_H

#include "sys/types.h"

typedef int64_t time_t;
#define CLOCKS_PER_SEC 1000000L

#endif
