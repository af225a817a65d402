/* printf is NVRTC's own. */
#ifndef PYCUDA_STDIO_H
#define PYCUDA_STDIO_H

#include "stddef.h"

#define EOF (-1)

#endif
