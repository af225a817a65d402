/* The driver functions that the CPU device refuses: refused.def. */
#ifndef DEVICE_API_BASE_REFUSED_H
#define DEVICE_API_BASE_REFUSED_H

#include "abi/cuda_abi.h"

typedef enum Refused {
#define REFUSED(symbol, reason) REFUSED_##symbol,
#define REFUSES(symbol, reason) REFUSED_##symbol,
#include "api/base/refused.def"
} Refused;

/* Writes the function's name and the reason to the log. Returns the error that goes with it, or that the
 * driver is not initialized. */
CUresult refuse(Refused function);

#endif
