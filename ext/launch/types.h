/* The types of a kernel's parameters, and whether arguments agree with them: np.int32 for a float is refused,
 * a float64 array for a float * warns. The types of numbers come from PTX, the types of arrays' elements from
 * the text of the source; a parameter of which neither is known is not checked. PYCUDA_CHECK_ARGUMENTS turns
 * the check on or off; unless it is set, the check is on for drivers that know types, as the CPU device does.
 */
#ifndef EXT_LAUNCH_TYPES_H
#define EXT_LAUNCH_TYPES_H

#include "ext/launch/arguments.h"

/* kind: 'i' or 'f', a number of `size` bytes; 'I' or 'F', a pointer to such numbers; 0: not known. */
typedef struct ParameterType {
    char kind;
    uint8_t size;
} ParameterType;

/* The types for a new function, which owns them; NULL when there is nothing to compare with. -1 with an
 * exception. */
int parameter_types_open(FunctionObject *function);

/* Function._note_types(read): read() reads the source when that is needed. It returns None, or bytes with the
 * kind and size of each parameter as in ParameterType; the kind 's' is a structure, 'p' a pointer to
 * pointers to numbers that are not known, 'J' and 'G' are pointers to pointers to what 'I' and 'F' point to.
 */
extern const char note_types_doc[];
PyObject *parameter_types_note(PyObject *self, PyObject *read);

typedef enum ParameterForm {
    PARAMETER_UNKNOWN,
    PARAMETER_PLAIN, /* a number or a pointer */
    PARAMETER_STRUCTURE /* or a vector */
} ParameterForm;

/* The form by the driver's or the source's information. May run Python code. */
ParameterForm parameter_types_form(FunctionObject *function, Py_ssize_t position);
/* Whether the driver, or else the source, says that the parameter is an integer. */
bool parameter_types_is_integer(FunctionObject *function, Py_ssize_t position);

/* Checks an argument. kind: its row in the table of kinds, or NULL. *may_remember: false if the next object
 * of the kind must be checked too. -1 with TypeError, or with a warning that became an exception. */
int parameter_types_check(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                          const ArgumentKind *kind, bool *may_remember);
/* Checks the dtype of an array whose address the kernel gets. -1 as parameter_types_check(). */
int parameter_types_check_elements(FunctionObject *function, Py_ssize_t position, PyObject *dtype);
/* Checks the dtype of the arrays of a list, which the kernel gets as a table of addresses. -1 with TypeError
 * when the source says that the parameter is no pointer to pointers, or as parameter_types_check(). */
int parameter_types_check_table(FunctionObject *function, Py_ssize_t position, PyObject *dtype);
/* Checks a number that prepare() declared by this format code. -1 as parameter_types_check(). */
int parameter_types_check_code(FunctionObject *function, Py_ssize_t position, const PackCode *code);

#endif
