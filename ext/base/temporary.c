/* See temporary.h. */
#include "ext/base/temporary.h"

#if FRAMES_ARE_DESCRIBED

#include <opcode.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>

/* What CPython publishes about its own layout, for debuggers: the beginning of this structure. */
extern const _Py_DebugOffsets _PyRuntime;

/* Whether frames have the layout that was compiled in. */
static bool frames_are_known(void)
{
    const struct _interpreter_frame *offsets = &_PyRuntime.interpreter_frame;
    return offsets->instr_ptr == offsetof(_PyInterpreterFrame, instr_ptr)
           && offsets->stackpointer == offsetof(_PyInterpreterFrame, stackpointer);
}

/* Whether an entry of the stack refers to the object. Its low bits are a tag. */
static bool refers_to(_PyStackRef entry, PyObject *object)
{
    return (entry.bits & ~(uintptr_t)7) == (uintptr_t)object;
}

static bool is_at_operator(PyObject *left, PyObject *right)
{
    const _PyInterpreterFrame *frame = PyThreadState_Get()->current_frame;
    if (!frame || !frames_are_known()) return false;
    const int instruction = frame->instr_ptr->op.code;
    const _PyStackRef *top = frame->stackpointer;
    if (!right)
        return (instruction == UNARY_NEGATIVE || instruction == UNARY_INVERT) && refers_to(top[-1], left);
    return instruction == BINARY_OP && refers_to(top[-1], right) && refers_to(top[-2], left);
}

bool temporary_ends(PyObject *operand, PyObject *left, PyObject *right)
{
    return PyUnstable_Object_IsUniqueReferencedTemporary(operand) && is_at_operator(left, right);
}

#endif
