/* libFuzzer target for the PTX front end: any bytes either give a module and no error, or none and an error
 * with a message. */
#include <stdint.h>
#include <stdlib.h>

#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PtxLog log = {0};
    PtxModule *module = ptx_parse((const char *)data, size, NULL, &log);
    if (!module && (log.status == PTX_OK || !log.errors || !*ptx_log_text(&log))) abort();
    if (module && log.errors) abort();
    ptx_module_free(module);
    ptx_log_free(&log);
    return 0;
}
