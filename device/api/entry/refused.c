/* The functions that do nothing but refuse. Whatever their arguments are, none is looked at. */
#include "api/base/refused.h"

#define REFUSED(symbol, reason) \
    __attribute__((visibility("protected"))) CUresult symbol(void); \
    CUresult symbol(void) { return refuse(REFUSED_##symbol); }
#include "api/base/refused.def"
