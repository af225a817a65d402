/* What the selection of matrix instructions has in common: their types, and the registers of fragments. */
#ifndef DEVICE_LOWER_SELECT_MATRIX_H
#define DEVICE_LOWER_SELECT_MATRIX_H

#include "exec/collective/matrix.h"
#include "lower/select/select.h"

/* MATRIX_TYPES if matrices do not have the type. */
MatrixType matrix_type(PtxType type);

/* The registers of an operation in its order (matrix.h of exec/collective). Of wgmma there are at most 128 of
 * d, twice, four of a, the metadata and the scale of d. */
enum { MAX_REGISTERS = 2 * 128 + 6 };
typedef struct Registers {
    Ref refs[MAX_REGISTERS];
    uint16_t count;
} Registers;

/* Adds the registers of an operand, which are destinations if `written`. An error, and false, if they are not
 * as many as the fragment has, or of another size. */
bool select_registers(Select *s, const PtxOperand *o, const Fragment *f, bool written, Registers *out);
/* Appends an operation of all lanes on the registers, of which the first `written` are destinations. */
LowerInsn *select_collective(Select *s, uint16_t op, const Registers *registers, unsigned written);

#endif
