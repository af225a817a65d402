/* Lowering: a checked PTX tree becomes decoded code that exec/ runs.
 *
 * lower_module lays out and initializes the module's variables, makes every function's code and resolves its
 * symbols. What the interpreter cannot run is an error in the log, with the line and the caret, never code
 * that does something else. The module owns all that it points to, except for the memory of its
 * variables: that belongs to the host, which finds it in CodeModule.globals.
 */
#ifndef DEVICE_LOWER_LOWER_H
#define DEVICE_LOWER_LOWER_H

#include <stdio.h>

#include "exec/code/code.h"
#include "ptx/ptx.h"

/* Limits of ptxas in bytes, on every target: of the static shared memory of a kernel in machine code, and of
 * the constants of a module. */
enum { MAX_STATIC_SHARED = 0xc000, MAX_CONSTANTS = 0x10000 };

/* Where a variable of a module lives; host code may use one that is managed. */
typedef enum VariableKind { VARIABLE_GLOBAL, VARIABLE_CONST, VARIABLE_MANAGED } VariableKind;

/* What lowering needs from the driver. */
typedef struct LowerHost {
    void *closure;
    /* Memory of a variable, writable by the host: its address, or 0 when there is none left. */
    uint64_t (*allocate)(void *closure, const char *name, uint64_t size, uint64_t align, VariableKind kind);
    /* Frees what allocate() has returned, if lowering fails later. May be NULL. */
    void (*release)(void *closure, uint64_t address);
    Chunks *chunks;        /* where memory comes from and goes to, or NULL */
    bool as_written;       /* no FMA contraction: of optimization level 0, or code to be debugged */
    unsigned checks;       /* CHECK_*: what the code is to be checked for */
    /* Bytes of static shared memory of a kernel that is loaded as PTX; 0: MAX_STATIC_SHARED. */
    uint32_t max_shared;
    /* By the driver's linker: functions that no kernel reaches get no code, and may use undefined names. */
    bool linked;
} LowerHost;

/* NULL on failure, with the reason in the log. The module keeps nothing of the tree: it may be freed
 * afterwards. */
CodeModule *lower_module(const PtxModule *tree, const LowerHost *host, PtxLog *log);

/* Frees the code; the memory of the variables stays the host's. NULL is fine. */
void code_module_free(CodeModule *module);

#endif
