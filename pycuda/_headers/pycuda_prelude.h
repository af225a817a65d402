/* What nvcc gives a source without any header: it reads the host's headers first. NVRTC has no host. */
#ifndef PYCUDA_PRELUDE_H
#define PYCUDA_PRELUDE_H

#include "stddef.h"
#include "stdlib.h"
#include "limits.h"
#include "math.h"
#include "time.h"
#include "sys/types.h"

#endif
