/* First versions of functions, by their second ones. Those with addresses of 32 bits are not among them. */
#include "api/base/api.h"

#define LEGACY(name, second, parameters, arguments) \
    CUresult name parameters { return second arguments; }
#include "api/base/legacy.def"
