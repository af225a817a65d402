/* The device runtime library, libcudadevrt.a: programs link it; the device has what it holds. */
#ifndef DEVICE_API_CODE_RUNTIME_LIBRARY_H
#define DEVICE_API_CODE_RUNTIME_LIBRARY_H

#include "ptx/ptx.h"

/* Whether the module declares functions that runtime_library_parse() defines. */
bool runtime_library_wanted(const PtxModule *tree);
/* The part of the library that modules declare, as a module to be joined; NULL if out of memory. */
PtxModule *runtime_library_parse(Chunks *chunks, PtxLog *log);
/* Whether the bytes of a file are NVIDIA's libcudadevrt.a. */
bool runtime_library_is(const void *data, size_t size);

#endif
