/* The declarations that nvcc includes in every source from the host's headers, which NVRTC does not read. */
#ifndef PYCUDA_PRELUDE_H
#define PYCUDA_PRELUDE_H

#include "stddef.h"
#include "stdlib.h"
#include "limits.h"
#include "math.h"
#include "time.h"
#include "sys/types.h"

#endif
