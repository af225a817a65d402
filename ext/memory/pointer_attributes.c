/* pointer_get_attribute: the driver's facts about an address. */
#include "ext/base/constants.h"
#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"

/* How the answer to an attribute is shown. */
typedef enum AnswerKind {
    ANSWER_NUMBER,
    ANSWER_SIGNED,
    ANSWER_BOOL,
    ANSWER_MEMORY_TYPE,
    ANSWER_TOKENS
} AnswerKind;

static AnswerKind answer_kind(unsigned attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return ANSWER_MEMORY_TYPE;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return ANSWER_TOKENS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return ANSWER_SIGNED;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return ANSWER_BOOL;
    default: return ANSWER_NUMBER;
    }
}

/* The value of any attribute. It is all zeros before the call, as values of fewer than 8 bytes fill only the
 * low end of `number`. */
typedef union AttributeValue {
    unsigned long long number;
    int signed_number;
    struct {
        unsigned long long token;
        unsigned space;
    } p2p;
    unsigned char room[64]; /* for attributes of later drivers */
} AttributeValue;

static PyObject *attribute_object(ModuleState *state, unsigned attribute, const AttributeValue *answer)
{
    switch (answer_kind(attribute)) {
    case ANSWER_SIGNED: return PyLong_FromLong(answer->signed_number);
    case ANSWER_BOOL: return PyBool_FromLong(answer->number != 0);
    case ANSWER_MEMORY_TYPE: return constants_member(state, state->memory_type, (long)answer->number);
    case ANSWER_TOKENS: return Py_BuildValue("(KI)", answer->p2p.token, answer->p2p.space);
    default: return PyLong_FromUnsignedLongLong(answer->number);
    }
}

PyDoc_STRVAR(pointer_get_attribute_doc, "pointer_get_attribute(attr, ptr)\n--\n\n"
                                        "Ask the driver about device memory or page-locked memory.\n"
                                        "\nParameters\n----------\n"
                                        "attr : pointer_attribute\n"
                                        "ptr : device address\n"
                                        "\nReturns\n-------\n"
                                        "memory_type, bool or int\n    Handles and addresses are ints.\n"
                                        "\nRaises\n------\n"
                                        "LogicError\n    The driver does not know the address.\n"
                                        "\nNotes\n-----\n"
                                        "Calls cuPointerGetAttribute.");

static PyObject *pointer_get_attribute(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *ptr;
    unsigned attribute = 0;
    AttributeValue answer = {0};
    CUdeviceptr pointer;
    if (READ_ARGUMENTS(pointer_get_attribute_doc, INTO(&attribute), INTO(&ptr)) < 0
        || convert_pointer(state, ptr, &pointer) < 0)
        return NULL;
    return gpu_cuPointerGetAttribute(state, &answer, attribute, pointer) < 0
               ? NULL
               : attribute_object(state, attribute, &answer);
}

PyMethodDef pointer_attributes_functions[] = {
    {"pointer_get_attribute", AS_METHOD(pointer_get_attribute), FAST_KEYWORDS, pointer_get_attribute_doc},
    {NULL, NULL, 0, NULL},
};
