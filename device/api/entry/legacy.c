/* First versions of functions, which call the second versions. Those with addresses of 32 bits are
 * refused (api/base/refused.def). */
#include "api/base/api.h"

#define LEGACY(name, second, parameters, arguments) \
    CUresult name parameters { return second arguments; }
#include "api/base/legacy.def"
