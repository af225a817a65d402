/* Graphs as text for Graphviz: a node a line, an edge a line, child graphs and bodies as clusters.
 */
#include <stdio.h>

#include "graph/graph.h"

/* CUgraphDebugDot_flags. */
enum { DOT_VERBOSE = 1, DOT_KERNEL = 4, DOT_COPY = 8, DOT_FILL = 16, DOT_HANDLES = 1024 };

static void print_details(FILE *file, const Work *work, unsigned flags)
{
    const LaunchConfig *shape = &work->kernel.shape;
    unsigned wanted = flags & DOT_VERBOSE ? ~0u : flags;
    if (work->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        fprintf(file, "\\n%s", work->kernel.function->code->name);
        if (wanted & DOT_KERNEL)
            fprintf(file, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", shape->grid[0], shape->grid[1], shape->grid[2],
                    shape->block[0], shape->block[1], shape->block[2], shape->dynamic_shared);
    }
    if (work->type == CU_GRAPH_NODE_TYPE_MEMCPY && wanted & DOT_COPY)
        fprintf(file, "\\n%zu x %zu x %zu bytes", work->copy.shape.WidthInBytes, work->copy.shape.Height,
                work->copy.shape.Depth);
    if (work->type == CU_GRAPH_NODE_TYPE_MEMSET && wanted & DOT_FILL)
        fprintf(file, "\\n%llu x %llu of %u bytes, value %u", (unsigned long long)work->fill.width,
                (unsigned long long)work->fill.height, work->fill.element, work->fill.value);
}

static void print_graph(FILE *file, const Graph *graph, unsigned number, unsigned *graph_count,
                        unsigned flags);

/* A child graph or a body, as a cluster with the next number. */
static void print_inner(FILE *file, const Graph *graph, unsigned *graph_count, unsigned flags)
{
    unsigned number = ++*graph_count;
    fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\";\n", number, number);
    print_graph(file, graph, number, graph_count, flags);
    fprintf(file, "}\n");
}

static void print_edge(FILE *file, const Edge *edge, unsigned number, size_t from)
{
    fprintf(file, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\"", number, from, number, edge->node->place);
    if (edge->data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
        fprintf(file, " [style=\"dashed\" label=\"programmatic, port %u\"]", edge->data.from_port);
    else if (edge->data.from_port)
        fprintf(file, " [label=\"port %u\"]", edge->data.from_port);
    fprintf(file, ";\n");
}

static void print_graph(FILE *file, const Graph *graph, unsigned number, unsigned *graph_count,
                        unsigned flags)
{
    for (size_t i = 0; i < graph->count; i++) {
        const Node *node = graph->nodes[i];
        fprintf(file, "\"graph_%u_node_%zu\" [shape=\"record\" label=\"{%zu\\n%s", number, i, i,
                work_type_name(node->work.type));
        print_details(file, &node->work, flags);
        if (flags & (DOT_VERBOSE | DOT_HANDLES)) fprintf(file, "\\n%p", (const void *)node);
        fprintf(file, "}\"];\n");
        if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
            print_inner(file, node->work.child, graph_count, flags);
        if (node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            for (unsigned b = 0; b < node->work.conditional.size; b++)
                print_inner(file, node->work.conditional.bodies[b], graph_count, flags);
    }
    for (size_t i = 0; i < graph->count; i++)
        for (size_t e = 0; e < graph->nodes[i]->after.count; e++)
            print_edge(file, &graph->nodes[i]->after.edges[e], number, i);
}

static CUresult print_to_file(CUgraph handle, const char *path, unsigned flags)
{
    const Graph *graph = graph_of(handle);
    unsigned graph_count = 0;
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "w");
    if (!file) return CUDA_ERROR_OPERATING_SYSTEM;
    fprintf(file, "digraph dot {\nsubgraph cluster_0 {\nlabel=\"graph_0\" graph[style=\"dashed\"];\n");
    print_graph(file, graph, 0, &graph_count, flags);
    fprintf(file, "}\n}\n");
    return fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    TRY(driver_check());
    return path ? WITH_GRAPHS(print_to_file(graph, path, flags)) : CUDA_ERROR_INVALID_VALUE;
}
