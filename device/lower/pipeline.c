/* From the tree of a module to its code: the passes in their order. All memory of the lowering is in arenas;
 * when one runs out, or an error was logged, everything made so far is freed. */
#include "lower/module.h"

#include <stdlib.h>
#include <string.h>

/* Fills what the module says of itself, without its functions and variables. */
static void describe_module(Lower *lower)
{
    const PtxModule *tree = lower->tree;
    CodeModule *code = lower->code;
    code->ptx_version = tree->version;
    code->target = tree->target;
    code->checks = lower->host->checks;
    code->debug_lines = tree->file_count != 0;
    code->files = ARENA_ARRAY(lower->keep, const char *, tree->file_count + 1);
    code->files[0] = "";
    for (uint32_t i = 0; i < tree->file_count; i++)
        code->files[i + 1] = arena_string(lower->keep, tree->files[i].name);
    code->file_count = tree->file_count + 1;
    lower->alu_patterns = ARENA_ZEROS(&lower->scratch, const AluPattern *, tree->form_count);
}

/* Whether a function gets code. In a module of the driver's linker, as with
 * NVIDIA's, those that no kernel reaches do not. */
static bool is_wanted(const Lower *lower, uint32_t id)
{
    const PtxFunction *f = lower->tree->functions[id];
    return f->defined && !f->alias && (!lower->host->linked || lower_reached(lower, id));
}

/* Code of one function, from its PTX instructions to CodeFunction.insns. */
static void lower_function(Lower *lower, FunctionFacts *facts)
{
    const PtxFunction *tree = facts->tree;
    LowerFunction f = {.scratch = &lower->body};
    arena_free(&lower->body);
    if (!lower_select(lower, facts, &f)) return;
    lower_blocks(&f);
    lower_copies(&f);
    lower_dead(&f);
    if (!lower->host->as_written && !lower->tree->debug) lower_contract(&f);
    lower_spins(&f);
    /* Checks of accesses need each access as an operation on a row. */
    if (!(lower->host->checks & CHECK_ACCESSES)) {
        if (tree->is_entry) lower_affine(&f);
        lower_fuse(&f);
    }
    lower_liveness(&f);
    if (!lower_registers(&f)) {
        ptx_report(tree->home, lower->log, PTX_INVALID, tree->line, tree->column,
                   "'%s' needs more registers than a frame can hold", tree->name);
        return;
    }
    lower_emit(lower, &f, facts->code);
    lower_names(lower, tree, &f, facts->code);
    if (tree->is_entry && !lower->host->checks) {
        lower_elementwise(lower, facts->code);
        lower_lockstep(lower, &f, facts->code);
    }
    memcpy(facts->pools, f.pools, sizeof f.pools);
}

/* False after an error, which is in the log: then lower->code is incomplete. */
static bool run_passes(Lower *lower)
{
    if (setjmp(lower->owned->on_failure)) {
        lower->log->errors++;
        lower->log->status = PTX_OUT_OF_MEMORY;
        ptx_log_append(lower->log, "out of memory while lowering\n");
        return false;
    }
    describe_module(lower);
    lower_call_graph(lower);
    if (lower->host->linked) lower_undefined(lower);
    if (lower->log->errors) return false;
    lower_symbols(lower);
    if (lower->log->errors) return false;
    lower_shared_memory(lower);
    if (lower->log->errors) return false;
    for (uint32_t i = 0; i < lower->tree->function_count; i++)
        if (is_wanted(lower, i)) lower_function(lower, &lower->functions[i]);
    if (lower->log->errors) return false;
    lower_share_frames(lower);
    lower_entry_needs(lower);
    lower_finish_constants(lower);
    return lower->log->errors == 0;
}

CodeModule *lower_module(const PtxModule *tree, const LowerHost *host, PtxLog *log)
{
    OwnedModule *owned = calloc(1, sizeof *owned);
    if (!owned) {
        log->errors++;
        log->status = PTX_OUT_OF_MEMORY;
        return NULL;
    }
    Lower lower = {
        .tree = tree, .host = host, .log = log, .owned = owned, .code = &owned->code, .keep = &owned->arena};
    owned->arena.chunks = lower.scratch.chunks = lower.body.chunks = host->chunks;
    owned->arena.on_failure = lower.scratch.on_failure = lower.body.on_failure = &owned->on_failure;
    bool complete = run_passes(&lower);
    if (!complete) lower_release_symbols(&lower);
    arena_free(&lower.scratch);
    arena_free(&lower.body);
    if (complete) return &owned->code;
    code_module_free(&owned->code);
    return NULL;
}

void code_module_free(CodeModule *module)
{
    if (!module) return;
    OwnedModule *owned = (OwnedModule *)module;
    arena_free(&owned->arena);
    free(owned);
}
