/* cpuDeviceTable: what pycuda asks of this driver alone, beyond the driver API. */
#include "api/base/report.h"
#include "api/code/module.h"
#include "api/memory/marks.h"
#include "api/stream/queue.h"

const CpuDeviceTable *cpuDeviceTable(void)
{
    static const CpuMemoryMarks marks = {marks_make, marks_use, marks_end, marks_drop};
    static const CpuLaunchNumbers numbers = {queue_take_thread_ticket, context_failed_launch, report_is_on,
                                             report_site};
    static const CpuDeviceTable table = {
        .size = sizeof table,
        .init_problem = driver_init_message,
        .parameter_kind = function_parameter_kind,
        .memory_marks = &marks,
        .launch_numbers = &numbers,
        .fault_advice = "make a new context, or restart the program",
        .settings = driver_setting_names,
        .host_writes = marks_host_writes,
    };
    driver_mute_stderr();
    return &table;
}
