/* Compares the rows of abi/library_functions.def with NVIDIA's headers, when it is compiled. */
#include <cublas_v2.h>
#include <cufftXt.h>
#include <cusolverDn.h>
#include <cusparse.h>

#include "core/library_table.h"

typedef cublasStatus_t STATUS_OF_CUBLAS;
typedef cufftResult STATUS_OF_CUFFT;
typedef cusolverStatus_t STATUS_OF_CUSOLVER;
typedef cusparseStatus_t STATUS_OF_CUSPARSE;

#define LIB_FN(library, name, params, args) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), STATUS_OF_##library(*) params), \
                   #name ": parameters differ from NVIDIA's header");
#include "abi/library_functions.def"
#undef LIB_FN

#define LIBRARY(library, name)
#define LIB_STATUS(library, code, name) _Static_assert(name == (code), #name ": has another value");
#include "abi/libraries.def"
