/* First versions of functions, which call the second versions. Those with addresses of 32 bits are in
 * legacy_addresses.c. */
#include "api/base/api.h"

#define LEGACY(name, second, parameters, arguments) \
    CUresult name parameters { return second arguments; }
#include "api/base/legacy.def"
