/* Calls. Arguments and results pass through local memory, at the start of the frame of the function called.
 *
 * A .param variable of a call sequence has its memory there from the start (PLACE_OUTGOING), so that the call
 * itself moves nothing. One that serves several calls at different offsets, or a call of a function of the
 * device, is in the caller's frame (PLACE_FRAME) and copied.
 */
#include "lower/select/select.h"

#include <string.h>

#include "exec/runtime/runtime.h"

enum { MAX_PARAMS = 256, DEVICE_PARAMS = 5 };

typedef struct Signature {
    PtxVariable **returns, **params;
    uint32_t return_count, param_count;
} Signature;

static Signature signature_of(const PtxFunction *f)
{
    f = lower_aliased(f);
    return (Signature){f->returns, f->params, f->return_count, f->param_count};
}

/* The parameters and results of the function called; of an indirect call, those of its prototype or of the
 * first function in its table. False if they are unknown or too many. */
static bool find_signature(const PtxInsn *call, Signature *sig)
{
    const PtxOperand *callee = &call->operands[PTX_CALL_CALLEE];
    const PtxOperand *targets = &call->operands[PTX_CALL_TARGETS];
    if (callee->kind == PTX_OPERAND_FUNCTION) {
        *sig = signature_of(callee->function);
    } else if (targets->kind == PTX_OPERAND_PROTOTYPE) {
        const PtxPrototype *p = targets->prototype;
        *sig = (Signature){p->returns, p->params, p->return_count, p->param_count};
    } else if (targets->kind == PTX_OPERAND_TABLE && targets->table->functions && targets->table->count) {
        *sig = signature_of(targets->table->functions[0]);
    } else {
        return false;
    }
    return sig->return_count + sig->param_count <= MAX_PARAMS;
}

/* Functions that the device provides, by name. */
typedef enum DeviceFunction {
    NOT_PROVIDED,
    VPRINTF,
    ASSERTFAIL,
    MALLOC,
    ALIGNED_MALLOC,
    FREE,
    RUNTIME_FIRST, /* the functions of the device runtime start here, in the order of runtime.def */
    SET_CONDITIONAL = RUNTIME_FIRST + RUNTIME_GraphSetConditional,
    LAUNCH_GRAPH = RUNTIME_FIRST + RUNTIME_GraphLaunch
} DeviceFunction;

static const struct {
    const char *name, *arguments;
    PtxType result;
} runtime_functions[] = {
#define RUNTIME(name, bits, arguments) {"__cudaCDP2" #name, arguments, PTX_b##bits},
#define RUNTIME_SAME(name, other, bits, arguments) RUNTIME(name, bits, arguments)
#include "exec/runtime/runtime.def"
#undef RUNTIME
#undef RUNTIME_SAME
};

static DeviceFunction provided_by_name(const char *name)
{
    static const struct {
        const char *name;
        DeviceFunction function;
    } names[] = {{"vprintf", VPRINTF},
                 {"__assertfail", ASSERTFAIL},
                 {"malloc", MALLOC},
                 {"__cuda_syscall_aligned_malloc", ALIGNED_MALLOC},
                 {"free", FREE},
                 {"cudaGraphSetConditional", SET_CONDITIONAL},
                 {"cudaGraphLaunch", LAUNCH_GRAPH}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i].name)) return names[i].function;
    for (unsigned i = 0; i < RUNTIME_COUNT; i++)
        if (!strcmp(name, runtime_functions[i].name)) return RUNTIME_FIRST + i;
    return NOT_PROVIDED;
}

bool lower_is_provided(const char *name) { return provided_by_name(name) != NOT_PROVIDED; }

bool lower_launches_graphs(const char *name) { return provided_by_name(name) == LAUNCH_GRAPH; }

/* The function of the device that a call names, unless the module defines it. */
static DeviceFunction provided_function(const PtxOperand *callee)
{
    bool missing = callee->kind == PTX_OPERAND_FUNCTION && !lower_aliased(callee->function)->defined;
    return missing ? provided_by_name(callee->function->name) : NOT_PROVIDED;
}

/* Whether an operand is a variable that this function declares, not one of its parameters. */
static bool is_call_variable(const Select *s, const PtxOperand *o)
{
    return o->kind == PTX_OPERAND_VARIABLE && o->variable->function == s->tree
           && o->variable->id < s->tree->variable_count && s->tree->variables[o->variable->id] == o->variable;
}

/* Places a variable that is an argument or result of a call. `place` is where the function called has it;
 * `outgoing`: it can be there. */
static void note_place(Select *s, const PtxOperand *o, LocalPlace place, bool outgoing)
{
    if (!is_call_variable(s, o)) return;
    LocalPlace *known = &s->places[o->variable->id]; /* from the calls before this one */
    if (!outgoing || (known->kind == PLACE_OUTGOING && known->offset != place.offset))
        known->kind = PLACE_FRAME;
    else if (known->kind == PLACE_NONE)
        *known = place;
}

void select_call_places(Select *s)
{
    LocalPlace returns[MAX_PARAMS], params[MAX_PARAMS];
    for (uint32_t i = 0; i < s->tree->insn_count; i++) {
        const PtxInsn *call = &s->tree->insns[i];
        Signature sig;
        if (call->form->opcode != PTX_OP_call || !find_signature(call, &sig)) continue;
        bool outgoing = provided_function(&call->operands[PTX_CALL_CALLEE]) == NOT_PROVIDED;
        select_call_layout(sig.returns, sig.return_count, sig.params, sig.param_count, returns, params);
        const PtxOperand *results = &call->operands[PTX_CALL_RETURNS];
        const PtxOperand *arguments = &call->operands[PTX_CALL_ARGUMENTS];
        for (uint32_t r = 0; r < results->count && r < sig.return_count; r++)
            note_place(s, &results->items[r], returns[r], outgoing);
        for (uint32_t p = 0; p < arguments->count && p < sig.param_count; p++)
            note_place(s, &arguments->items[p], params[p], outgoing);
    }
}

/* Stores a row to local memory at an offset of this function's frame, or loads it. */
static void local_access(Select *s, bool store, Ref value, uint32_t offset, PtxType type)
{
    RegisterClass class = class_of(type);
    LowerInsn *insn = select_emit(s, store ? select_store_op(PTX_SPACE_LOCAL, false, type, class)
                                           : select_load_op(PTX_SPACE_LOCAL, false, type, class));
    insn->imm = offset;
    if (store)
        insn->b = value;
    else
        insn->d = value;
}

/* Copies bytes of local memory, in the largest pieces first. */
static void copy_local(Select *s, uint32_t to, uint32_t from, uint64_t size)
{
    static const struct {
        uint32_t bytes;
        PtxType type;
    } pieces[] = {{8, PTX_b64}, {4, PTX_b32}, {2, PTX_b16}, {1, PTX_b8}};
    uint32_t done = 0;
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        for (; size - done >= pieces[p].bytes; done += pieces[p].bytes) {
            Ref value = lower_new_register(s->f, class_of(pieces[p].type));
            local_access(s, false, value, from + done, pieces[p].type);
            local_access(s, true, value, to + done, pieces[p].type);
        }
    }
}

/* As local_access(), for predicates, too, which take a byte. */
static void move_value(Select *s, bool store, Ref row, uint32_t offset, PtxType type)
{
    if (type != PTX_pred) {
        local_access(s, store, row, offset, type);
        return;
    }
    Ref zero = lower_constant(s->lower, CLASS_16, 0, 0);
    if (store) {
        Ref one = lower_constant(s->lower, CLASS_16, 1, 0);
        local_access(s, true, select_compute(s, OP_selp_b16, CLASS_16, one, zero, row), offset, PTX_b8);
        return;
    }
    Ref value = lower_new_register(s->f, CLASS_16);
    local_access(s, false, value, offset, PTX_b8);
    select_copy(s, row, select_compute(s, OP_setp_ne_b16, CLASS_PREDICATE, value, zero, REF_ABSENT));
}

/* Stores one register of an argument at `target`, or loads one of a result from there. */
static void pass_register(Select *s, const PtxOperand *o, PtxType type, uint32_t target, bool result)
{
    if (!result)
        move_value(s, true, select_source(s, o, type), target, type);
    else if (o->kind != PTX_OPERAND_SINK)
        move_value(s, false, select_dest(s, o, class_of(type)), target, type);
}

/* The offset of a variable from the start of this function's frame. That of
 * the function called starts at local_size. */
static uint32_t caller_offset(const Select *s, const PtxOperand *o)
{
    const LocalPlace *place = &s->places[o->variable->id];
    return place->offset + (place->kind == PLACE_OUTGOING ? s->local_size : 0);
}

/* Moves an argument to where the function called has its parameter, or a result from there. */
static void pass_argument(Select *s, const PtxOperand *o, const PtxVariable *formal, LocalPlace place,
                          bool result)
{
    uint32_t target = s->local_size + place.offset;
    if (is_call_variable(s, o)) {
        uint32_t source = caller_offset(s, o);
        if (source == target) return;
        if (result)
            copy_local(s, source, target, formal->size);
        else
            copy_local(s, target, source, formal->size);
    } else if (o->kind == PTX_OPERAND_VECTOR) {
        for (uint32_t k = 0; k < o->count; k++)
            pass_register(s, &o->items[k], formal->type, target + k * ptx_type_bytes(formal->type), result);
    } else if (formal->dim_count || (formal->vector > 1 && o->kind != PTX_OPERAND_SINK)) {
        select_error(s, o->column, "this argument is not supported by the CPU device");
    } else {
        pass_register(s, o, formal->type, target, result);
    }
}

/* Copies those of this function's parameters, or results, that are
 * registers between its frame and their rows. */
static void move_registers(Select *s, PtxVariable **list, uint32_t count, const LocalPlace *places,
                           bool store)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i]->space != PTX_SPACE_REG || list[i]->reg >= s->tree->register_count) continue;
        PtxType type = (PtxType)list[i]->type;
        for (uint32_t k = 0; k < list[i]->vector; k++)
            move_value(s, store, REF_MAKE(REF_FRAME, list[i]->reg + k),
                       places[i].offset + k * ptx_type_bytes(type), type);
    }
}

void select_take_parameters(Select *s)
{
    if (!s->tree->is_entry) move_registers(s, s->tree->params, s->tree->param_count, s->params, false);
}

void select_return_results(Select *s)
{
    if (!s->tree->is_entry) move_registers(s, s->tree->returns, s->tree->return_count, s->returns, true);
}

static void emit_call(Select *s, const PtxOperand *callee)
{
    if (callee->kind == PTX_OPERAND_FUNCTION) {
        const CodeFunction *code = select_function(s, callee);
        if (code) select_emit(s, OP_call)->pointer = code;
        return;
    }
    Ref function = select_source(s, callee, PTX_b64);
    select_emit(s, OP_call_indirect)->a = function;
}

/* A call of a function of the program. */
static void ordinary_call(Select *s)
{
    LocalPlace returns[MAX_PARAMS], params[MAX_PARAMS];
    const PtxOperand *results = operand_at(s, PTX_CALL_RETURNS);
    const PtxOperand *arguments = operand_at(s, PTX_CALL_ARGUMENTS);
    Signature sig;
    if (!find_signature(s->insn, &sig)) {
        select_error(s, 0, "the signature of the function called is not known");
        return;
    }
    if (results->count != sig.return_count || arguments->count != sig.param_count) {
        select_error(s, 0, "%u results and %u arguments are given, %u and %u are declared", results->count,
                     arguments->count, sig.return_count, sig.param_count);
        return;
    }
    select_call_layout(sig.returns, sig.return_count, sig.params, sig.param_count, returns, params);
    for (uint32_t p = 0; p < sig.param_count; p++)
        pass_argument(s, &arguments->items[p], sig.params[p], params[p], false);
    emit_call(s, operand_at(s, PTX_CALL_CALLEE));
    for (uint32_t r = 0; r < sig.return_count; r++)
        pass_argument(s, &results->items[r], sig.returns[r], returns[r], true);
}

/* ---- functions of the device: they take values in rows ---- */

/* The value of an argument in a row. */
static Ref argument_row(Select *s, const PtxOperand *o, PtxType type)
{
    if (!is_call_variable(s, o)) return select_source(s, o, type);
    Ref value = lower_new_register(s->f, class_of(type));
    local_access(s, false, value, caller_offset(s, o), type);
    return value;
}

/* Writes the value to the result that the call names, if there is one. */
static void take_result(Select *s, const PtxOperand *results, Ref value, PtxType type)
{
    if (!results->count) return;
    const PtxOperand *o = &results->items[0];
    if (is_call_variable(s, o))
        local_access(s, true, value, caller_offset(s, o), type);
    else
        select_copy(s, select_dest(s, o, class_of(type)), value);
}

/* A call of a function of the device other than those of the device runtime. */
static void device_call(Select *s, DeviceFunction function)
{
    static const struct {
        uint16_t op;
        uint8_t count; /* of arguments */
        uint8_t result; /* PtxType */
        uint8_t types[DEVICE_PARAMS]; /* PtxType of each argument */
    } rows[] = {
        [VPRINTF] = {OP_call_vprintf, 2, PTX_b32, {PTX_b64, PTX_b64}},
        [ASSERTFAIL] = {OP_call_assertfail, 5, PTX_TYPE_NONE, {PTX_b64, PTX_b64, PTX_b32, PTX_b64, PTX_b64}},
        [MALLOC] = {OP_call_malloc, 1, PTX_b64, {PTX_b64}},
        [ALIGNED_MALLOC] = {OP_call_malloc, 2, PTX_b64, {PTX_b64, PTX_b64}},
        [FREE] = {OP_call_free, 1, PTX_TYPE_NONE, {PTX_b64}}};
    const PtxOperand *arguments = operand_at(s, PTX_CALL_ARGUMENTS);
    Ref values[DEVICE_PARAMS] = {REF_ABSENT};
    if (arguments->count != rows[function].count) {
        select_error(s, 0, "%u arguments are given, %u are expected", arguments->count, rows[function].count);
        return;
    }
    for (uint32_t i = 0; i < arguments->count; i++)
        values[i] = argument_row(s, &arguments->items[i], rows[function].types[i]);
    LowerInsn *insn = select_emit(s, rows[function].op);
    PtxType result = rows[function].result;
    if (result != PTX_TYPE_NONE) insn->d = lower_new_register(s->f, class_of(result));
    if (function == ASSERTFAIL) { /* the last argument, the size of a character, is not used */
        insn->more_count = DEVICE_PARAMS - 1;
        insn->more = lower_new_refs(s->f, values, insn->more_count);
    } else {
        insn->a = values[0];
        insn->b = arguments->count > 1 ? values[1] : REF_ABSENT;
    }
    if (result != PTX_TYPE_NONE) take_result(s, operand_at(s, PTX_CALL_RETURNS), insn->d, result);
}

/* Reads an argument whose type is a letter of runtime.def; of a structure, its members. Returns how many
 * values it has; 0 after an error. */
static uint32_t runtime_argument(Select *s, const PtxOperand *o, char type, Ref *values)
{
    uint32_t members = runtime_members(type), size = runtime_member_size(type);
    PtxType member = size == sizeof(uint64_t) ? PTX_b64 : PTX_b32;
    if (members == 1) {
        values[0] = argument_row(s, o, member);
        return 1;
    }
    if (!is_call_variable(s, o) || o->variable->size != members * size) {
        select_error(s, o->column, "a structure of %u bytes is expected here", members * size);
        return 0;
    }
    for (uint32_t k = 0; k < members; k++) {
        values[k] = lower_new_register(s->f, class_of(member));
        local_access(s, false, values[k], caller_offset(s, o) + k * size, member);
    }
    return members;
}

/* A call of function number `function` of the device runtime. */
static void call_runtime(Select *s, uint32_t function)
{
    const char *types = runtime_functions[function].arguments;
    const PtxOperand *arguments = operand_at(s, PTX_CALL_ARGUMENTS);
    PtxType result = runtime_functions[function].result;
    Ref values[RUNTIME_VALUES];
    uint32_t count = 0;
    if (arguments->count != strlen(types)) {
        select_error(s, 0, "%u arguments are given, %zu are expected", arguments->count, strlen(types));
        return;
    }
    for (uint32_t i = 0; i < arguments->count; i++)
        count += runtime_argument(s, &arguments->items[i], types[i], &values[count]);
    LowerInsn *insn = select_emit(s, OP_call_runtime);
    insn->imm = function;
    insn->d = lower_new_register(s->f, class_of(result));
    insn->more = lower_new_refs(s->f, values, count);
    insn->more_count = (uint8_t)count;
    take_result(s, operand_at(s, PTX_CALL_RETURNS), insn->d, result);
}

void select_call(Select *s)
{
    GuardedBlock guarded = select_guarded_begin(s);
    DeviceFunction function = provided_function(operand_at(s, PTX_CALL_CALLEE));
    if (function >= RUNTIME_FIRST)
        call_runtime(s, function - RUNTIME_FIRST);
    else if (function != NOT_PROVIDED)
        device_call(s, function);
    else
        ordinary_call(s);
    select_guarded_end(s, guarded);
}
