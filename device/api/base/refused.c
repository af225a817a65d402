/* What refused functions answer. */
#include "api/base/refused.h"

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
    Reason reason = functions[function].reason;
    TRY(driver_check());
    log_error("%s is not supported by the CPU device: %s", functions[function].symbol, reasons[reason].text);
    return reasons[reason].error;
}
