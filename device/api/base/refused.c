/* What refused functions answer. */
#include "api/base/refused.h"

#include <string.h>

#include "api/base/driver.h"
#include "api/base/log.h"

typedef enum Reason {
#define REASON(name, error, text) REASON_##name,
#include "api/base/refused.def"
} Reason;

static const struct {
    CUresult error;
    const char *text;
} reasons[] = {
#define REASON(name, error, text) [REASON_##name] = {CUDA_ERROR_##error, text},
#include "api/base/refused.def"
};

static const struct {
    const char *symbol;
    Reason reason;
} functions[] = {
#define REFUSED(symbol, reason) [REFUSED_##symbol] = {#symbol, REASON_##reason},
#define REFUSES(symbol, reason) [REFUSED_##symbol] = {#symbol, REASON_##reason},
#include "api/base/refused.def"
};

CUresult refuse(Refused function)
{
    const char *symbol = functions[function].symbol;
    Reason reason = functions[function].reason;
    const char *text = reasons[reason].text, *rest = strchr(text, '*');
    int before = (int)(rest ? rest - text : (ptrdiff_t)strlen(text));
    TRY(driver_check());
    log_error("%s is not supported by the CPU device: %.*s%s%s", symbol, before, text, rest ? symbol : "",
              rest ? rest + 1 : "");
    return reasons[reason].error;
}
