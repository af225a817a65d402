/* cpuDeviceTable: what pycuda asks of this driver alone, beyond the driver API. */
#include "api/base/report.h"
#include "api/code/module.h"
#include "api/memory/marks.h"
#include "api/stream/queue.h"

const CpuDeviceTable *cpuDeviceTable(void)
{
    static const CpuMemoryMarks marks = {marks_make, marks_use, marks_end, marks_drop};
    static const CpuLaunchNumbers numbers = {queue_take_given, context_failed_launch, report_is_on,
                                             report_site};
    static const CpuDeviceTable table = {sizeof table,
                                         driver_init_message,
                                         function_parameter_kind,
                                         &marks,
                                         &numbers,
                                         "make a new context, or restart the program",
                                         driver_setting_names,
                                         marks_host_writes};
    driver_texts_are_read();
    return &table;
}
