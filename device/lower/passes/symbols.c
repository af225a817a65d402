/* Memory and initial bytes of .global and .const variables; handles of texture and surface references. */
#include "lower/module.h"

#include <string.h>

static bool is_reference(const PtxVariable *v)
{
    return v->space == PTX_SPACE_GLOBAL && (v->type == PTX_texref || v->type == PTX_surfref);
}

static bool lives_in_memory(const PtxVariable *v)
{
    if (is_reference(v)) return false;
    return v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST || v->space == PTX_SPACE_TEX;
}

/* Gets the memory of a variable from the host; an error in the log if there is none. */
static void take_memory(Lower *lower, const PtxVariable *v, CodeGlobal *global)
{
    const LowerHost *host = lower->host;
    VariableKind kind = v->managed                    ? VARIABLE_MANAGED
                        : v->space == PTX_SPACE_CONST ? VARIABLE_CONST
                                                      : VARIABLE_GLOBAL;
    global->size = v->size ? v->size : 1;
    uint64_t address = host->allocate(host->closure, v->name, global->size, v->align ? v->align : 1, kind);
    if (!address) {
        ptx_report(v->home, lower->log, PTX_OUT_OF_MEMORY, v->line, v->column,
                   "no memory for variable '%s' of %llu bytes", v->name, (unsigned long long)v->size);
        return;
    }
    lower->addresses[v->id] = address;
    global->address = address;
}

static void place_variable(Lower *lower, const PtxVariable *v)
{
    CodeGlobal *global = &lower->code->globals[lower->code->global_count];
    *global = (CodeGlobal){.name = arena_string(lower->keep, v->name),
                           .align = v->align ? v->align : 1,
                           .is_const = v->space == PTX_SPACE_CONST,
                           .is_managed = v->managed};
    take_memory(lower, v, global);
    if (global->address) lower->code->global_count++;
}

/* Gives a reference the next handle, which is its address in code: its number in the module, from 1 on. */
static void number_reference(Lower *lower, const PtxVariable *v)
{
    CodeModule *code = lower->code;
    if (v->dim_count) {
        ptx_report(v->home, lower->log, PTX_INVALID, v->line, v->column,
                   "arrays of texture and surface references are not supported by the CPU device");
        return;
    }
    code->references[code->reference_count++] =
        (CodeReference){.name = arena_string(lower->keep, v->name), .surface = v->type == PTX_surfref};
    lower->addresses[v->id] = code->reference_count;
}

/* The address that a relocation needs; false if it is not known at load, as that of a .shared variable. */
static bool relocation_address(Lower *lower, const PtxRelocation *r, uint64_t *address)
{
    if (r->function) {
        *address = (uint64_t)(uintptr_t)lower->functions[r->function->id].code;
        return *address != 0;
    }
    *address = lower->addresses[r->variable->id];
    return lives_in_memory(r->variable) && *address != NO_ADDRESS;
}

/* Writes the address of a relocation to the bytes of the variable. */
static void relocate_word(Lower *lower, const PtxVariable *v, const PtxRelocation *r, uint8_t *bytes)
{
    uint64_t address;
    if (!relocation_address(lower, r, &address)) {
        ptx_report(v->home, lower->log, PTX_INVALID, v->line, v->column,
                   "the initializer of '%s' needs the address of '%s', which is not known at load", v->name,
                   r->function ? r->function->name : r->variable->name);
        return;
    }
    uint64_t value = (address + (uint64_t)r->addend) >> r->shift;
    if (r->offset + r->size <= v->size) memcpy(bytes + r->offset, &value, r->size);
}

/* Writes the initial bytes of a variable to its memory, and keeps them if they are not zeros. */
static void initialize_global(Lower *lower, const PtxVariable *v, CodeGlobal *global)
{
    if (!v->initial && !v->relocation_count) {
        memset((void *)(uintptr_t)global->address, 0, global->size);
        return;
    }
    uint8_t *bytes = arena_zeros(lower->keep, v->size, 1);
    if (v->initial) memcpy(bytes, v->initial, v->size);
    for (uint32_t r = 0; r < v->relocation_count; r++) relocate_word(lower, v, &v->relocations[r], bytes);
    global->initial = bytes;
    memcpy((void *)(uintptr_t)global->address, bytes, v->size);
}

/* An error if the constants of the module are too large, counted as ptxas does: in their order, used or
 * not. */
static void check_constants(Lower *lower)
{
    const PtxModule *tree = lower->tree;
    const PtxVariable *first_beyond = NULL;
    uint64_t size = 0;
    for (uint32_t i = 0; i < tree->global_count; i++) {
        const PtxVariable *v = tree->globals[i];
        if (v->space != PTX_SPACE_CONST || !lower_owns(lower, v)) continue;
        size = align_up(size, v->align ? v->align : 1) + v->size;
        if (size > MAX_CONSTANTS && !first_beyond) first_beyond = v;
    }
    if (first_beyond)
        ptx_report(first_beyond->home, lower->log, PTX_INVALID, first_beyond->line, first_beyond->column,
                   "File uses too much global constant data (0x%llx bytes, 0x%x max)",
                   (unsigned long long)size, MAX_CONSTANTS);
}

/* Its place in a thread's local memory. */
static void place_local(Lower *lower, const PtxVariable *v)
{
    uint64_t offset = align_up(lower->local_size, v->align ? v->align : 1);
    lower->addresses[v->id] = offset;
    lower->local_size = offset + v->size;
}

void lower_symbols(Lower *lower)
{
    const PtxModule *tree = lower->tree;
    check_constants(lower);
    if (lower->log->errors) return;
    lower->addresses = ARENA_ARRAY(&lower->scratch, uint64_t, tree->global_count);
    lower->code->globals = ARENA_ZEROS(lower->keep, CodeGlobal, tree->global_count);
    lower->code->references = ARENA_ZEROS(lower->keep, CodeReference, tree->global_count);
    for (uint32_t i = 0; i < tree->global_count; i++) {
        lower->addresses[i] = NO_ADDRESS;
        if (!lower_owns(lower, tree->globals[i])) continue;
        if (lives_in_memory(tree->globals[i])) place_variable(lower, tree->globals[i]);
        if (tree->globals[i]->space == PTX_SPACE_LOCAL) place_local(lower, tree->globals[i]);
        if (is_reference(tree->globals[i])) number_reference(lower, tree->globals[i]);
    }
    if (lower->log->errors) return;
    CodeGlobal *global = lower->code->globals; /* in the order of the variables that have memory */
    for (uint32_t i = 0; i < tree->global_count; i++) {
        const PtxVariable *v = tree->globals[i];
        if (!lives_in_memory(v) || lower->addresses[i] == NO_ADDRESS) continue;
        initialize_global(lower, v, global++);
    }
}

void lower_release_symbols(Lower *lower)
{
    const LowerHost *host = lower->host;
    if (!host->release || !lower->code) return;
    for (uint32_t i = 0; i < lower->code->global_count; i++)
        host->release(host->closure, lower->code->globals[i].address);
    lower->code->global_count = 0;
}
