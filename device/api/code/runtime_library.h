/* The device runtime library, libcudadevrt.a: programs link it, but the CPU device has its own functions. */
#ifndef DEVICE_API_CODE_RUNTIME_LIBRARY_H
#define DEVICE_API_CODE_RUNTIME_LIBRARY_H

#include "ptx/ptx.h"

/* Whether the module declares functions that runtime_library_parse() defines. */
bool runtime_library_wanted(const PtxModule *tree);
/* The functions of the library that are PTX, as a tree to be linked; NULL if out of memory. */
PtxModule *runtime_library_parse(Chunks *chunks, PtxLog *log);
/* Whether the bytes of a file are NVIDIA's libcudadevrt.a. */
bool runtime_library_is(const void *data, size_t size);

#endif
