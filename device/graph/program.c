/* Programs of executable graphs, made from graphs. See program.h. */
#include "graph/program.h"

#include <stdlib.h>

/* A program that is being made. */
typedef struct Building {
    Program *program;
    size_t capacity;               /* of program->steps */
    Node **error_node;             /* results of the instantiation that fails */
    CUgraphInstantiateResult *why;
} Building;

void step_put(Step *step)
{
    if (atomic_fetch_sub(&step->references, 1) != 1) return;
    for (unsigned i = 0; step->bodies && i < step->work.conditional.size; i++)
        if (step->bodies[i]) program_put(step->bodies[i]);
    free(step->bodies);
    work_free(&step->work);
    free(step);
}

Program *program_hold(Program *program)
{
    atomic_fetch_add(&program->references, 1);
    return program;
}

void program_put(Program *program)
{
    if (atomic_fetch_sub(&program->references, 1) != 1) return;
    for (size_t i = 0; i < program->count; i++) step_put(program->steps[i]);
    free(program->steps);
    free(program->places);
    free(program);
}

Step *step_new(const Step *like, Work *work)
{
    Step *step = calloc(1, sizeof *step);
    if (!step) {
        work_free(work);
        return NULL;
    }
    atomic_init(&step->references, 1);
    step->work = *work;
    if (like) {
        step->node = like->node;
        step->shape = like->shape;
        step->disabled = like->disabled;
        step->slot = like->slot;
        step->kept = like->kept;
    }
    if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
        launch_prepare(&step->launch, work->kernel.function, &work->kernel.shape, work->kernel.params);
    return step;
}

Program *exec_own_program(Exec *exec)
{
    Program *old = exec->program;
    exec->uploaded = false;
    if (atomic_load(&old->references) == 1) return old;
    Program *copy = malloc(sizeof *copy);
    if (!copy) return NULL;
    *copy = *old;
    atomic_init(&copy->references, 1);
    copy->steps = malloc((old->count + 1) * sizeof *copy->steps);
    copy->places = malloc((old->count + 1) * sizeof *copy->places);
    if (!copy->steps || !copy->places) {
        copy->count = 0;
        program_put(copy);
        return NULL;
    }
    for (size_t i = 0; i < old->count; i++) {
        copy->steps[i] = old->steps[i];
        copy->places[i] = old->places[i];
        atomic_fetch_add(&old->steps[i]->references, 1);
    }
    program_put(old);
    return exec->program = copy;
}

void program_set(Program *program, size_t index, Step *step)
{
    step_put(program->steps[index]);
    program->steps[index] = step;
}

size_t program_find(const Program *program, uint64_t node)
{
    size_t low = 0, high = program->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (program->places[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < program->count && program->places[low].node == node;
    return found ? program->places[low].index : program->count;
}

/* Adds a step at the end. The program takes the caller's reference to it. False if out of memory: then the
 * caller keeps it. */
static bool add_step(Building *building, Step *step)
{
    Program *program = building->program;
    if (program->count == building->capacity) {
        size_t capacity = building->capacity ? 2 * building->capacity : 16;
        Step **steps = realloc(program->steps, capacity * sizeof *steps);
        if (!steps) return false;
        program->steps = steps;
        building->capacity = capacity;
    }
    program->steps[program->count++] = step;
    return true;
}

static CUresult add_graph(Building *building, const Graph *graph, uint64_t outer);

/* Whether the body has only nodes that the driver's manual allows: kernels, copies, fills, empty and
 * conditional nodes. */
static bool fits_body(const Program *body)
{
    for (size_t i = 0; i < body->count; i++) {
        CUgraphNodeType type = body->steps[i]->work.type;
        if (type > CU_GRAPH_NODE_TYPE_MEMSET && type != CU_GRAPH_NODE_TYPE_EMPTY
            && type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
            return false;
    }
    return true;
}

static CUresult add_bodies(const Node *node, Step *step, Node **error_node, CUgraphInstantiateResult *why)
{
    const ConditionalWork *conditional = &node->work.conditional;
    step->bodies = calloc(conditional->size, sizeof *step->bodies);
    if (!step->bodies) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < conditional->size; i++) {
        TRY(program_new(conditional->bodies[i], &step->bodies[i], error_node, why));
        if (!fits_body(step->bodies[i])) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult program_make_bodies(const Node *node, Step *step)
{
    Node *error_node = NULL;
    CUgraphInstantiateResult why;
    return add_bodies(node, step, &error_node, &why);
}

/* Adds the step of a node, or the steps of a child graph. */
static CUresult add_node(Building *building, Node *node, uint64_t shape)
{
    Program *program = building->program;
    Work work;
    if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH) return add_graph(building, node->work.child, shape);
    TRY(work_copy(&work, &node->work));
    Step *step = step_new(NULL, &work);
    if (!step) return CUDA_ERROR_OUT_OF_MEMORY;
    step->node = node->id;
    step->shape = shape;
    switch (work.type) {
    case CU_GRAPH_NODE_TYPE_HOST: program->calls_host = true; break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: program->waits = true; break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: program->endless = true; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: step->slot = program->tickets++; break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        step->slot = program->ranges++;
        step->kept = true;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: step->slot = program->ranges++; break;
    default: break;
    }
    if (!add_step(building, step)) {
        step_put(step);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (work.type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return CUDA_SUCCESS;
    program->conditional = true;
    return add_bodies(node, step, building->error_node, building->why);
}

/* Adds the steps of all nodes in topological order. outer: as of node_shape(). */
static CUresult add_graph(Building *building, const Graph *graph, uint64_t outer)
{
    bool cycle;
    CUresult result = CUDA_SUCCESS;
    Node **order = graph_order(graph, &cycle);
    if (cycle) *building->why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    if (!order) return cycle ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->count && !result; i++) {
        result = add_node(building, order[i], node_shape(order[i], outer));
        if (result && !*building->error_node) *building->error_node = order[i];
    }
    free(order);
    return result;
}

static int compare_places(const void *a, const void *b)
{
    uint64_t first = ((const StepPlace *)a)->node, second = ((const StepPlace *)b)->node;
    return (first > second) - (first < second);
}

/* A step that frees memory which the program itself allocates gets the slot of the step that allocates it. */
static void pair_memory(Program *program)
{
    for (size_t f = 0; f < program->count; f++) {
        Step *release = program->steps[f];
        if (release->work.type != CU_GRAPH_NODE_TYPE_MEM_FREE) continue;
        for (size_t a = 0; a < f; a++) {
            Step *take = program->steps[a];
            if (take->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC
                || take->work.memory->params.dptr != release->work.address)
                continue;
            take->kept = false;
            release->kept = true; /* the memory need not be withdrawn at the launch */
            release->slot = take->slot;
        }
    }
}

CUresult program_new(const Graph *graph, Program **out, Node **error_node, CUgraphInstantiateResult *why)
{
    Program *program = calloc(1, sizeof *program);
    if (!program) return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&program->references, 1);
    Building building = {program, 0, error_node, why};
    CUresult result = add_graph(&building, graph, 0);
    program->places = malloc((program->count + 1) * sizeof *program->places);
    if (!result && !program->places) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        program_put(program);
        return result;
    }
    for (size_t i = 0; i < program->count; i++) program->places[i] = (StepPlace){program->steps[i]->node, i};
    qsort(program->places, program->count, sizeof *program->places, compare_places);
    pair_memory(program);
    *out = program;
    return CUDA_SUCCESS;
}

/* Undoes the claims of the first `count` steps. */
static void unclaim_steps(const Program *program, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (program->steps[i]->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            program->steps[i]->work.memory->instances = 0;
}

bool program_claim(const Program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        if (program->steps[i]->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
        unsigned *instances = &program->steps[i]->work.memory->instances;
        if (*instances) {
            unclaim_steps(program, i);
            return false;
        }
        *instances = 1;
    }
    return true;
}

void program_unclaim(const Program *program) { unclaim_steps(program, program->count); }
