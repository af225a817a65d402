// Types under which textures hold what textures have no format for, and complex numbers.
#ifndef PYCUDA_HELPERS_HPP
#define PYCUDA_HELPERS_HPP

#include "pycuda-complex.hpp"

typedef float fp_tex_float;
typedef int2 fp_tex_double;
typedef uint2 fp_tex_cfloat;
typedef int4 fp_tex_cdouble;

#endif
