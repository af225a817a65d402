/* The map of the CPU device: a shared library that exports the CUDA driver API and executes PTX on the CPU.
 *
 *   a program                    cuModuleLoadData(ptx), cuLaunchKernel(...)
 *      |
 *   api/     the driver's objects and calls
 *      |  PTX text                                 |  grid, block, parameters, in a stream's order
 *   ptx/     text -> checked tree                  |
 *      |  PtxModule (ptx/tree.h)                   |
 *   lower/   tree -> decoded code                  |
 *      |  CodeModule (exec/code/code.h)                 |
 *   exec/    decoded code -> results, warp-wide, blocks over worker threads
 *
 * A stage knows the ones below it and nothing above: exec/ knows no driver object, ptx/ knows no code. Of
 * exec/, lower/ sees what decoded code is made of (exec/code/) and the limits of what it selects, nothing
 * that runs. The README.md of each folder says what lives there and what may be changed where.
 *
 * api/, one family of calls a file; nothing here touches an instruction. A folder includes those before it.
 * api/base/       what all of them share
 *   api.h former.def                   what is exported
 *   settings.[ch def] log.[ch] errors.c    settings from the environment, cuLogs*, error texts
 *   report.[ch]                        what a program did, for python -m pycuda.check
 *   driver.[ch] objects.h              cuInit, fork, devices; handles with reference counts
 *   ipc_handle.[ch]                    what processes give each other
 * api/context/
 *   context.[ch] context_list.c        contexts, and those that are known
 *   context_stack.c context_state.c    current ones, limits
 *   coredump.c checkpoint.c            settings that dumps would have, the state that checkpoints would need
 *   registry.c resource.[ch]           live objects; parts of a device
 *   patience.[ch]                      waits that can be left, canceled kernels
 *   upcalls.h                          what contexts ask of the folders above
 * api/stream/
 *   queue.[ch]                         the streams' queues: order, dependencies, workers
 *   stream.[ch] stream_attributes.c event.[ch]    streams and events as handles
 *   shared_event.[ch]                  events of other processes
 *   capture.h node_set.h               streams under capture, for the calls that become nodes (graph/)
 *   green.[ch] context_event.c         contexts that have a part of a device; events of all their streams
 * api/memory/
 *   memory.[ch] host_memory.c managed.[ch] pointer.c   allocation and what is known of an address
 *   physical.[ch] virtual.[ch]         memory without addresses, addresses without memory; mapping
 *   pool*.[ch] marks.[ch]              memory in the order of streams; the use of the program's own pools
 *   ipc.[ch] external.h external_*.c   memory of other processes and interfaces, and the semaphores of these
 *   stream_values.[ch]                 words of memory that streams write and wait for
 * api/copy/
 *   copy.[ch] copy_shaped.c copy_batch.c fill.[ch]    copies, fills
 *   array.[ch] mipmap.[ch]             CUDA arrays
 * api/texture/
 *   texture.[ch] surface.c tensor_map.c    texture and surface objects, descriptions of tensors
 *   reference.[ch]                     texture and surface references of modules
 *   gl.c                               buffers and textures of OpenGL, by copies
 * api/device/
 *   device.c device_attributes.def device_limits.[h def]    the virtual devices
 *   interconnect.c notification.c      what they do with other hardware's memory; what they would report
 * api/code/
 *   image.[ch] decompress.[ch] module.[ch] jit_options.c    from image to loaded module
 *   function.c library.c link.c runtime_library.[ch]   kernels
 * api/launch/
 *   launch.[ch] former_launch.c cluster.c device_runtime.c occupancy.c    launches of kernels
 *   multi_device.c                     cooperative ones of several devices
 * graph/          streams under capture, graphs, their replay (graph.h has the list)
 * api/entry/      how calls come in
 *   exports.c former*.c proc_address.c device_table.c    variants of functions, cuGetProcAddress
 *   unsupported.c one_lock.[ch]        a weak answer for every row of abi/; one lock across all calls
 *
 * ptx/
 *   ptx.h tree.h                       the interface and the tree
 *   link.c                             several trees become one
 *   arena.[ch] chunks.[ch]             memory of a load: given back at once, kept for the next
 *   types.def spaces.def modifiers.def instructions.def special.def    one row per fact of the PTX manual
 *   gates.def targets.def              what needs which target and version
 *
 * lower/
 *   lower.h                            the interface
 *   pipeline.c                         the passes in their order
 *   ir.[ch] module.h                   what the passes hand on: of a function, of the module
 * lower/select/   PTX instructions to operations of exec/code/, by families
 * lower/passes/   one pass a file
 *
 * exec/, the machine itself. A folder includes those before it.
 * exec/code/       decoded code: what lower/ makes
 *   code.h ops.h core.def alu.def handlers.h    instructions, operations (one row each), their handlers
 *   affine.[h def] lines.[ch]          rows of registers kept as base and stride, of a warp and of a block
 *   stream.h front.h wide.[h def] fused.h    plans and operations for warps of a block together
 *   measure.c                          local memory a thread needs
 * exec/memory/     the memory map, memory shared by processes, which bytes were written
 * exec/state/      a launch and what runs it: warp, block, cluster, worker, grid; faults; ranges of memory
 * exec/numbers/    half, bfloat16, fma, the special function unit: numbers as a GPU rounds them
 * exec/texture/    sampling, texels, levels of detail, gradients, directions into cubes
 * exec/checks/     races, unwritten memory, divergent barriers (PYCUDA_CPU_CHECK)
 * exec/control/    where a warp goes on: divergence, calls, barriers, who takes part in collectives, sleep
 * exec/collective/ what lanes of a warp compute together: shuffles, votes, products of matrices
 * exec/async/      mbarriers, copies of bulks and tensors, cache policies
 * exec/runtime/    CUDA's device runtime: kernels that launch kernels, printf, malloc
 * exec/run/
 *   block.c cluster.c grid.c workers.c descendants.c    a block's warps in turn, a grid's blocks, the threads
 *                                      that run them, the grids that grids launch
 *   stream.c front.c                   warps of a block together: elementwise kernels, sums in loops
 * exec/ops/        operations: built once for each instruction set
 *   bind.[ch]                          chooses the instruction set at load
 *
 * Environment: PYCUDA_CPU_DEVICES, PYCUDA_CPU_THREADS, PYCUDA_CPU_MEMORY, PYCUDA_CPU_COMPUTE_CAPABILITY,
 * PYCUDA_CPU_CHECK, PYCUDA_CPU_DRIVER_VERSION, PYCUDA_CPU_MULTIPROCESSORS (read once, api/base/driver.c),
 * PYCUDA_CPU_LOG (api/base/log.c), PYCUDA_CPU_ISA (exec/bind.c).
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "api/base/api.h"
#include "exec/state/launch.h"
#include "lower/lower.h"
#include "ptx/ptx.h"

#endif
