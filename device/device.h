/* The map of the CPU device: a shared library that exports the CUDA driver API and executes PTX on the CPU.
 *
 *   a program                    cuModuleLoadData(ptx), cuLaunchKernel(...)
 *      |
 *   api/     the driver's objects and calls
 *      |  PTX text                                 |  grid, block, parameters, in a stream's order
 *   ptx/     text -> checked tree                  |
 *      |  PtxModule (ptx/tree.h)                   |
 *   lower/   tree -> decoded code                  |
 *      |  CodeModule (exec/code.h)                 |
 *   exec/    decoded code -> results, warp-wide, blocks over worker threads
 *
 * A stage knows the ones below it and nothing above: exec/ knows no driver object, ptx/ knows no code.
 *
 * api/, one family of calls a file; nothing here touches an instruction
 *   api.h exports.c unsupported.c      what is exported; a weak answer for every row of abi/
 *   proc_address.c errors.c log.[ch]   cuGetProcAddress, error texts, cuLogs*
 *   settings.h settings.def settings.c  settings from the environment
 *   driver.h init.c                    cuInit, fork
 *   objects.h registry.c               handles: reference counts, live objects
 *   device.c device_attributes.def device_limits.h     the virtual devices
 *   context.[ch] context_stack.c context_state.c       contexts, current ones, limits
 *   queue.[ch]                         the streams' queues: order, dependencies, workers
 *   stream.[ch] event.c                streams and events as handles
 *   memory.[ch] host_memory.c pointer.c                allocation and what is known of an address
 *   pool*.[ch]                         memory in the order of streams
 *   ipc.[ch] ipc_event.c              memory and events of other processes
 *   copy.[ch] copy_shaped.c fill.c array.[ch]          copies, fills, arrays
 *   image.[ch] module.[ch] jit_options.c               from image to loaded module
 *   function.c library.c link.c runtime_library.[ch] launch.[ch] device_runtime.c occupancy.c   kernels and their launches
 *
 * ptx/
 *   ptx.h tree.h                       the interface and the tree
 *   link.c                             several trees become one
 *   chunks.[ch]                        memory of loads, kept for the next
 *   types.def spaces.def modifiers.def instructions.def special.def    one row per fact of the PTX manual
 *   gates.def targets.def              what needs which target and version
 *
 * lower/
 *   lower.h                            the interface; one pass a file
 *
 * exec/
 *   code.h ops_alu.def ops_core.def    decoded code and its operations
 *   warp.h fault.h grid.h              the state of a warp, a fault, a launch
 *   runtime*.[ch] children.[ch] descendants.c transfer.[ch]   kernels that launch kernels; what else they call
 *   memory_map.[ch]                    every range of addresses that may be touched
 *   shared_file.[ch]                   memory that other processes can map
 *   mbarrier.[ch] bulk.c               barriers in shared memory, copies that arrive at them
 *   sleep.c                            lanes that sleep, and those that run meanwhile
 *   matrix.[ch] fragments.c            matrices that a warp holds
 *   check*.[ch] check.def race*.[ch] unwritten.[ch]    what code is checked for when it is asked for
 *   affine.h affine.def fused.h        rows as numbers, several instructions at once
 *   ops_*.c handlers.c                 hot: built once for each instruction set; bind.c chooses at load
 *
 * Environment: PYCUDA_CPU_DEVICES, PYCUDA_CPU_THREADS, PYCUDA_CPU_MEMORY,
 * PYCUDA_CPU_COMPUTE_CAPABILITY,
 * PYCUDA_CPU_CHECK, PYCUDA_CPU_DRIVER_VERSION, PYCUDA_CPU_MULTIPROCESSORS (read once, api/init.c), PYCUDA_CPU_LOG
 * (api/log.c), PYCUDA_CPU_ISA (exec/bind.c).
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "api/api.h"
#include "exec/grid.h"
#include "lower/lower.h"
#include "ptx/ptx.h"

#endif
