/* Launches of executable graphs: one task of the stream that does one step after another.
 *
 * Everything was checked and prepared before, so that a kernel costs only what the device needs to begin and
 * end it. A thread with a timeout may leave the task within a kernel; the task records where it is to be
 * resumed.
 */
#include <stdlib.h>

#include "api/memory/stream_values.h"
#include "graph/condition.h"
#include "graph/device_launch.h"

/* The position in a program. A task has a stack of them: of the whole program, and of each body that it is
 * in. */
typedef struct Frame {
    const Program *program;
    size_t next; /* the index of the step to be done next */
    GraphRun *run; /* owned: the launch whose graph the program is; NULL: a body in the launch below */
} Frame;

typedef struct ReplayTask {
    Task task;
    Exec *exec;                 /* a reference, for the user objects that it has */
    Program *program;           /* a reference */
    MemoryRange *ranges;        /* by Step.slot: of allocations, and of frees of memory from elsewhere */
    RecordTicket *tickets;      /* by Step.slot: of records of events */
    MemoryRange *ended;         /* memory of the previous launch, which this one frees before it begins */
    size_t ended_count;
    Frame *frames;              /* the stack; the innermost program last */
    size_t depth, capacity;
    KernelLaunches launches;    /* by the kernel that is running */
    bool begun;
    KernelRun run;              /* of the kernel that is running */
} ReplayTask;

/* Adds a program to the stack. run: the launch that it is of, or NULL; the stack owns it after a success. */
static bool push_program(ReplayTask *task, const Program *program, GraphRun *run)
{
    if (task->depth == task->capacity) {
        size_t capacity = task->capacity ? 2 * task->capacity : 2;
        Frame *frames = realloc(task->frames, capacity * sizeof *frames);
        if (!frames) return false;
        task->frames = frames;
        task->capacity = capacity;
    }
    task->frames[task->depth++] = (Frame){program, 0, run};
    return true;
}

/* Resets the conditions that have a default value. */
static void reset_conditions(const Program *program)
{
    for (size_t i = 0; program->conditional && i < program->count; i++) {
        const Step *step = program->steps[i];
        if (step->work.type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        Condition *condition = step->work.conditional.condition;
        if (condition->flags & CU_GRAPH_COND_ASSIGN_DEFAULT)
            atomic_store(&condition->value, condition->initial);
        for (unsigned b = 0; b < step->work.conditional.size; b++) reset_conditions(step->bodies[b]);
    }
}

/* The body to be done now, or NULL. *again: the node is to be visited again after its body (WHILE). */
static const Program *choose_body(const Step *step, bool *again)
{
    const ConditionalWork *conditional = &step->work.conditional;
    unsigned value = atomic_load(&conditional->condition->value), body;
    *again = false;
    switch (conditional->type) {
    case CU_GRAPH_COND_TYPE_IF: body = value ? 0 : 1; break;
    case CU_GRAPH_COND_TYPE_WHILE:
        body = value ? 0 : 1;
        *again = value != 0;
        break;
    default: body = value;
    }
    return body < conditional->size ? step->bodies[body] : NULL;
}

/* The launch of the graph that is running: the innermost one. */
static GraphRun *current_run(const ReplayTask *task)
{
    size_t i = task->depth;
    while (!task->frames[i - 1].run) i--;
    return task->frames[i - 1].run;
}

static void fail_for_memory(Stream *stream)
{
    context_fail(stream->object.context, CUDA_ERROR_OUT_OF_MEMORY, "no memory for a graph's body", 0);
}

/* Puts launches onto the stack, the last one first, so that the first one is the next to run. */
static void push_runs(ReplayTask *task, GraphRun *reversed, Stream *stream)
{
    for (GraphRun *run = reversed, *next; run; run = next) {
        next = run->next;
        if (push_program(task, run->program, run)) continue;
        graph_run_free(run);
        fail_for_memory(stream);
    }
}

/* After a kernel: what it has launched runs now, or after the graph that the kernel belongs to. */
static void take_launches(ReplayTask *task, Stream *stream)
{
    GraphRuns now;
    graph_runs_init(&now);
    for (GraphRun *run = task->launches.runs.first, *next; run; run = next) {
        next = run->next;
        graph_runs_append(run->is_tail ? &current_run(task)->tails : &now, run);
    }
    graph_runs_init(&task->launches.runs);
    push_runs(task, graph_runs_take_reversed(&now), stream);
}

static bool do_kernel(ReplayTask *task, const Step *step, Stream *stream)
{
    Exec *exec = current_run(task)->exec;
    bool by_kernels = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    task->launches.exec = exec;
    task->run.graph_launches = &task->launches;
    task->run.current_graph = by_kernels ? (uintptr_t)exec : 0;
    return launch_go_on(&task->run, &step->launch, step->work.kernel.function, stream);
}

/* Does the step; false if a kernel is not finished. */
static bool do_step(ReplayTask *task, const Step *step, Stream *stream)
{
    const MemoryRange *range = task->ranges ? &task->ranges[step->slot] : NULL;
    switch (step->work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return do_kernel(task, step, stream);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: event_reach(step->work.event, task->tickets[step->slot]); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: pool_range_begin(range); break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: pool_range_end(range, false); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        stream_values_do(step->work.values.operations, step->work.values.count, stream);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        external_semaphores_do(step->work.semaphores.semaphores, step->work.semaphores.count,
                               step->work.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, stream);
        break;
    default: work_do(&step->work);
    }
    return true;
}

/* Takes the innermost program off the stack. If it is a launch its tails are next. */
static void end_program(ReplayTask *task, Stream *stream)
{
    GraphRun *run = task->frames[--task->depth].run;
    if (!run) return;
    GraphRun *tails = graph_runs_take_reversed(&run->tails);
    graph_run_free(run);
    push_runs(task, tails, stream);
}

/* Does one step of the innermost program, or leaves that program at its end. False if a kernel is not
 * finished. */
static bool advance_step(ReplayTask *task, Stream *stream)
{
    Frame *frame = &task->frames[task->depth - 1];
    if (frame->next == frame->program->count) {
        end_program(task, stream);
        return true;
    }
    const Step *step = frame->program->steps[frame->next];
    if (step->disabled) {
        frame->next++;
    } else if (step->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        bool again;
        const Program *body = choose_body(step, &again);
        if (!again) frame->next++;
        if (body && !push_program(task, body, NULL)) fail_for_memory(stream);
    } else {
        if (!do_step(task, step, stream)) return false;
        frame->next++;
        if (task->launches.runs.first) take_launches(task, stream);
    }
    return true;
}

static void run_replay(Task *self, Stream *stream)
{
    ReplayTask *task = (ReplayTask *)self;
    Context *context = stream->object.context;
    self->unfinished = false;
    if (!task->begun) {
        task->begun = true;
        for (size_t i = 0; i < task->ended_count; i++) pool_range_end(&task->ended[i], false);
        reset_conditions(task->program);
    }
    while (task->depth) {
        /* A kernel that has begun must be ended: its grid notices the error itself. */
        bool stopped = !task->run.grid && (context_error(context) || atomic_load(&context->canceled));
        if (stopped) return;
        if (!advance_step(task, stream)) {
            self->unfinished = true;
            return;
        }
    }
}

static void free_replay(Task *self)
{
    ReplayTask *task = (ReplayTask *)self;
    const Program *program = task->program;
    for (size_t i = 0; i < task->depth; i++)
        if (task->frames[i].run) graph_run_free(task->frames[i].run);
    graph_runs_free(&task->launches.runs);
    for (size_t i = 0; task->ranges && i < program->ranges; i++)
        if (task->ranges[i].block) pool_range_settle(&task->ranges[i]);
    for (size_t i = 0; task->ended && i < task->ended_count; i++)
        if (task->ended[i].block) pool_range_settle(&task->ended[i]);
    free(task->ranges);
    free(task->tickets);
    free(task->ended);
    free(task->frames);
    program_put(task->program);
    PUT(task->exec);
    free(task);
}

static ReplayTask *task_new(Exec *exec)
{
    Program *program = exec->program;
    ReplayTask *task = calloc(1, sizeof *task);
    if (!task) return NULL;
    task->task = (Task){.run = run_replay, .release = free_replay, .stoppable = true};
    task->task.on_worker = program->calls_host;
    task->task.endless = program->endless;
    if (program->ranges) task->ranges = calloc(program->ranges, sizeof *task->ranges);
    if (program->ranges) task->ended = calloc(program->ranges, sizeof *task->ended);
    if (program->tickets) task->tickets = calloc(program->tickets, sizeof *task->tickets);
    task->exec = exec;
    object_hold(OBJECT(exec));
    task->program = program_hold(program);
    graph_runs_init(&task->launches.runs);
    GraphRun *run = graph_run_new(exec);
    bool ok = (!program->ranges || (task->ranges && task->ended)) && (!program->tickets || task->tickets)
              && run && push_program(task, program, run);
    if (ok) return task;
    if (run) graph_run_free(run);
    free_replay(&task->task);
    return NULL;
}

/* If memory that the previous launch has allocated was not freed: frees it with this launch, if the flags
 * allow it, else returns an error. */
static CUresult free_of_previous(ReplayTask *task, const GraphMemory *memory)
{
    if (!pool_bound_in_use(memory->block)) return CUDA_SUCCESS;
    if (!(task->exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
        return CUDA_ERROR_INVALID_VALUE;
    if (pool_withdraw(memory->params.dptr, &task->ended[task->ended_count])) task->ended_count++;
    return CUDA_SUCCESS;
}

/* Allocates and frees the memory of the launch for calls now; for kernels that is done when the launch comes
 * to the steps. */
static CUresult hand_over(ReplayTask *task)
{
    const Program *program = task->program;
    if (!program->ranges) return CUDA_SUCCESS;
    for (size_t i = 0; i < program->count; i++)
        if (program->steps[i]->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            TRY(free_of_previous(task, program->steps[i]->work.memory));
    for (size_t i = 0; i < program->count; i++) {
        const Step *step = program->steps[i];
        if (step->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            task->ranges[step->slot] = pool_bound_take(step->work.memory->block, step->kept);
        else if (step->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE && !step->kept
                 && !pool_withdraw(step->work.address, &task->ranges[step->slot]))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* Makes the stream wait for the events of all wait nodes, and for the previous launch if that was in another
 * stream, before the launch begins. */
static CUresult wait_first(const ReplayTask *task, Stream *stream)
{
    const Program *program = task->program;
    for (size_t i = 0; program->waits && i < program->count; i++)
        if (program->steps[i]->work.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
            TRY(event_wait_in(stream, program->steps[i]->work.event));
    const Exec *exec = task->exec;
    if (!exec->stream || exec->stream == stream) return CUDA_SUCCESS;
    Dependency place = {exec->stream, exec->number};
    object_hold(OBJECT(exec->stream));
    return queue_submit_wait(stream, &place);
}

CUresult replay_submit(Exec *exec, Stream *stream)
{
    ReplayTask *task = task_new(exec);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    Program *program = program_hold(task->program);
    RecordTicket *tickets = calloc(program->tickets + 1, sizeof *tickets); /* the task has its own */
    CUresult result = tickets ? hand_over(task) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) result = wait_first(task, stream);
    if (result) {
        free_replay(&task->task);
        free(tickets);
        program_put(program);
        return result;
    }
    for (size_t i = 0; program->tickets && i < program->count; i++)
        if (program->steps[i]->work.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
            task->tickets[program->steps[i]->slot] = event_take_ticket(program->steps[i]->work.event);
    for (size_t i = 0; i < program->tickets; i++) tickets[i] = task->tickets[i];
    uint64_t number = queue_submit(stream, &task->task, NULL);
    for (size_t i = 0; program->tickets && i < program->count; i++)
        if (program->steps[i]->work.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
            event_place(program->steps[i]->work.event, tickets[program->steps[i]->slot], stream, number);
    free(tickets);
    program_put(program);
    if (exec->stream) PUT(exec->stream);
    object_hold(OBJECT(stream));
    exec->stream = stream;
    exec->number = number;
    return CUDA_SUCCESS;
}
