/* The call graph, and what each kernel can reach: found by one walk over all operands. */
#include "lower/module.h"

#include <string.h>

enum { MAX_HOPS = 64 /* aliases of aliases, which might form a circle */, MIN_STACK = 16 };

const PtxFunction *lower_aliased(const PtxFunction *function)
{
    for (int hops = 0; function->alias && hops < MAX_HOPS; hops++) function = function->alias;
    return function;
}

/* Adds a number to a list that does not have it. */
static void add_number(Lower *lower, uint32_t **list, uint32_t *count, uint32_t *capacity, uint32_t number)
{
    for (uint32_t i = 0; i < *count; i++)
        if ((*list)[i] == number) return;
    *list = arena_grow(&lower->scratch, *list, *count, capacity, sizeof(uint32_t));
    (*list)[(*count)++] = number;
}

/* Adds a function that an instruction names. A kernel is left out: it may be
 * launched from the device, but not called. */
static void add_callee(Lower *lower, FunctionFacts *facts, const PtxFunction *callee)
{
    if (lower_aliased(callee)->is_entry) return;
    facts->graph_launches |= !lower_aliased(callee)->defined && lower_launches_graphs(callee->name);
    uint32_t id = lower_aliased(callee)->id;
    add_number(lower, &facts->callees, &facts->callee_count, &facts->callee_capacity, id);
}

/* Notes what naming a variable says of the function. */
static void use_variable(Lower *lower, FunctionFacts *facts, const PtxVariable *v)
{
    facts->texture_references |= v->type == PTX_texref;
    if (v->space != PTX_SPACE_SHARED) return;
    if (!lower_owns(lower, v)) {
        facts->uses_dynamic = true;
        if (v->align > facts->dynamic_align) facts->dynamic_align = v->align;
    } else if (!v->function) {
        add_number(lower, &facts->shared, &facts->shared_count, &facts->shared_capacity, v->id);
    }
}

/* Notes what an operand says of the function: callees, variables, a grid barrier. */
static void use_operand(Lower *lower, FunctionFacts *facts, const PtxOperand *o)
{
    switch (o->kind) {
    case PTX_OPERAND_FUNCTION: add_callee(lower, facts, o->function); break;
    case PTX_OPERAND_TABLE:
        for (uint32_t i = 0; o->table->functions && i < o->table->count; i++)
            add_callee(lower, facts, o->table->functions[i]);
        break;
    case PTX_OPERAND_VARIABLE: use_variable(lower, facts, o->variable); break;
    case PTX_OPERAND_ADDRESS:
        if (o->base == PTX_BASE_VARIABLE) use_variable(lower, facts, o->variable);
        break;
    case PTX_OPERAND_SPECIAL:
        facts->grid_sync |= o->special == PTX_SPECIAL_envreg && (o->component == 1 || o->component == 2);
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_TUPLE:
    case PTX_OPERAND_LIST:
        for (uint32_t i = 0; i < o->count; i++) use_operand(lower, facts, &o->items[i]);
        break;
    default: break;
    }
}

static void take_address(Lower *lower, const PtxFunction *function)
{
    const PtxFunction *real = lower_aliased(function);
    if (!real->is_entry) lower->functions[real->id].address_taken = true;
}

static void use_insn(Lower *lower, FunctionFacts *facts, const PtxInsn *insn)
{
    for (uint32_t i = 0; i < insn->operand_count; i++) use_operand(lower, facts, &insn->operands[i]);
    if (insn->form->opcode == PTX_OP_call) {
        if (insn->operands[PTX_CALL_CALLEE].kind != PTX_OPERAND_FUNCTION) facts->calls_unknown = true;
        return;
    }
    for (uint32_t i = 0; i < insn->operand_count; i++)
        if (insn->operands[i].kind == PTX_OPERAND_FUNCTION) take_address(lower, insn->operands[i].function);
}

/* Adds a function to the module, without its code. */
static CodeFunction *new_function(Lower *lower, const PtxFunction *tree)
{
    CodeFunction *code = ARENA_ZEROS(lower->keep, CodeFunction, 1);
    code->name = arena_string(lower->keep, tree->name);
    code->module = lower->code;
    code->is_entry = tree->is_entry;
    memcpy(code->maxntid, tree->maxntid, sizeof code->maxntid);
    memcpy(code->reqntid, tree->reqntid, sizeof code->reqntid);
    memcpy(code->cluster, tree->reqnctapercluster, sizeof code->cluster);
    code->max_cluster = tree->maxclusterrank;
    code->requires_cluster = tree->explicitcluster;
    code->blocks_are_clusters = tree->blocks_are_clusters;
    lower->code->functions[lower->code->function_count++] = code;
    return code;
}

/* Makes the entries, or the other functions. In the module the entries come first. */
static void make_functions(Lower *lower, bool entries)
{
    for (uint32_t i = 0; i < lower->tree->function_count; i++) {
        const PtxFunction *tree = lower->tree->functions[i];
        FunctionFacts *facts = &lower->functions[i];
        if (tree->is_entry != entries) continue;
        facts->tree = tree;
        facts->entry = NO_ENTRY;
        if (!tree->defined || tree->alias) continue;
        facts->code = new_function(lower, tree);
        if (entries) facts->entry = lower->entry_count++;
    }
}

/* An alias has the code of the function that it stands for. */
static void find_aliased(Lower *lower)
{
    for (uint32_t i = 0; i < lower->tree->function_count; i++) {
        FunctionFacts *facts = &lower->functions[i];
        const PtxFunction *real = lower_aliased(facts->tree);
        if (real != facts->tree) facts->code = lower->functions[real->id].code;
    }
}

/* Functions whose addresses are in initializers may be called through registers. */
static void note_initializers(Lower *lower)
{
    for (uint32_t i = 0; i < lower->tree->global_count; i++) {
        const PtxVariable *v = lower->tree->globals[i];
        for (uint32_t r = 0; r < v->relocation_count; r++)
            if (v->relocations[r].function) take_address(lower, v->relocations[r].function);
    }
}

/* Adds a function to a set and to the work list. */
static void reach_function(uint64_t *set, uint32_t *work, uint32_t *work_count, uint32_t id)
{
    if (set[id / 64] >> (id % 64) & 1) return;
    set[id / 64] |= UINT64_C(1) << (id % 64);
    work[(*work_count)++] = id;
}

/* The set of functions that an entry may run. An indirect call may run any whose address is taken. */
static uint64_t *reach_from(Lower *lower, uint32_t entry)
{
    uint32_t count = lower->tree->function_count, work_count = 0;
    uint64_t *set = ARENA_ZEROS(&lower->scratch, uint64_t, (count + 63) / 64);
    uint32_t *work = ARENA_ARRAY(&lower->scratch, uint32_t, count);
    reach_function(set, work, &work_count, entry);
    while (work_count) {
        const FunctionFacts *facts = &lower->functions[work[--work_count]];
        for (uint32_t i = 0; i < facts->callee_count; i++)
            reach_function(set, work, &work_count, facts->callees[i]);
        for (uint32_t id = 0; facts->calls_unknown && id < count; id++)
            if (lower->functions[id].address_taken) reach_function(set, work, &work_count, id);
    }
    return set;
}

bool lower_reached(const Lower *lower, uint32_t function)
{
    for (uint32_t e = 0; e < lower->entry_count; e++)
        if (lower_reaches(lower, e, function)) return true;
    return false;
}

void lower_call_graph(Lower *lower)
{
    const PtxModule *tree = lower->tree;
    lower->functions = ARENA_ZEROS(&lower->scratch, FunctionFacts, tree->function_count);
    lower->code->functions = ARENA_ZEROS(lower->keep, CodeFunction *, tree->function_count);
    make_functions(lower, true);
    make_functions(lower, false);
    lower->code->entry_count = lower->entry_count;
    find_aliased(lower);
    for (uint32_t i = 0; i < tree->function_count; i++)
        for (uint32_t n = 0; n < tree->functions[i]->insn_count; n++)
            use_insn(lower, &lower->functions[i], &tree->functions[i]->insns[n]);
    note_initializers(lower);
    lower->reach = ARENA_ARRAY(&lower->scratch, uint64_t *, lower->entry_count);
    for (uint32_t i = 0; i < tree->function_count; i++)
        if (lower->functions[i].entry != NO_ENTRY)
            lower->reach[lower->functions[i].entry] = reach_from(lower, i);
}

/* Each function goes from NEW to OPEN while its callees are visited, then to KNOWN or UNKNOWN. */
typedef enum StackState { STACK_NEW, STACK_OPEN, STACK_KNOWN, STACK_UNKNOWN } StackState;
enum { DEEPEST_CHAIN = 1000 };

static StackState stack_below(Lower *lower, uint32_t id, uint8_t *states, int depth);

/* *deepest: the most stack that a callee of the function needs. False if that of some callee is unknown. */
static bool deepest_callee(Lower *lower, const FunctionFacts *facts, uint8_t *states, int depth,
                           uint32_t *deepest)
{
    for (uint32_t i = 0; i < facts->callee_count; i++) {
        uint32_t id = facts->callees[i];
        if (stack_below(lower, id, states, depth + 1) == STACK_UNKNOWN) return false;
        const CodeFunction *code = lower->functions[id].code;
        if (code && code->stack_size > *deepest) *deepest = code->stack_size;
    }
    return true;
}

/* Sets the function's stack_size, and those of all that it calls. UNKNOWN with recursion (a callee is OPEN),
 * indirect calls and very long chains of calls. */
static StackState stack_below(Lower *lower, uint32_t id, uint8_t *states, int depth)
{
    FunctionFacts *facts = &lower->functions[id];
    uint32_t deepest = 0;
    if (states[id] == STACK_OPEN || depth > DEEPEST_CHAIN) return STACK_UNKNOWN;
    if (states[id] != STACK_NEW) return states[id];
    states[id] = STACK_OPEN;
    bool bounded = !facts->calls_unknown && deepest_callee(lower, facts, states, depth, &deepest);
    if (bounded && facts->code) {
        uint32_t size = facts->code->local_size + deepest;
        facts->code->stack_size = size ? size : MIN_STACK;
    }
    states[id] = bounded ? STACK_KNOWN : STACK_UNKNOWN;
    return states[id];
}

static void add_needs(CodeFunction *entry, const CodeFunction *callee)
{
    if (callee->barrier_count > entry->barrier_count) entry->barrier_count = callee->barrier_count;
    if (callee->register_estimate > entry->register_estimate)
        entry->register_estimate = callee->register_estimate;
}

void lower_entry_needs(Lower *lower)
{
    uint32_t count = lower->tree->function_count;
    uint8_t *states = ARENA_ZEROS(&lower->scratch, uint8_t, count);
    for (uint32_t i = 0; i < count; i++) {
        FunctionFacts *facts = &lower->functions[i];
        if (facts->entry == NO_ENTRY || !facts->code) continue;
        stack_below(lower, i, states, 0);
        for (uint32_t id = 0; id < count; id++) {
            if (!lower_reaches(lower, facts->entry, id)) continue;
            facts->code->uses_grid_sync |= lower->functions[id].grid_sync;
            facts->code->launches_graphs |= lower->functions[id].graph_launches;
            facts->code->uses_texture_references |= lower->functions[id].texture_references;
            if (lower->functions[id].code) add_needs(facts->code, lower->functions[id].code);
        }
        uint32_t max = lower_register_limit(facts->tree);
        if (facts->code->register_estimate > max) facts->code->register_estimate = max;
    }
}
