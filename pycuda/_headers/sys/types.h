/* 64-bit integers are long long, as in the CUDA C++ library: its headers define the same names. */
#ifndef PYCUDA_SYS_TYPES_H
#define PYCUDA_SYS_TYPES_H

#include "../stddef.h"

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned long long u_int64_t;
typedef long ssize_t;

typedef unsigned char u_char, u_int8_t;
typedef unsigned short u_short, ushort, u_int16_t;
typedef unsigned int u_int, uint, u_int32_t;
typedef unsigned long u_long, ulong;
typedef int64_t quad_t, off_t, loff_t;
typedef u_int64_t u_quad_t;

#endif
