/* Lowering: a checked PTX tree becomes decoded code that exec/ runs.
 *
 * lower_module lays out and initializes the module's variables, makes every function's code and resolves its
 * symbols. What the interpreter cannot run is an error in the log, with the line and the caret, never code
 * that does something else. The module owns all that it points to but the memory of its variables: that
 * belongs to the host, which finds it in CodeModule.globals.
 */
#ifndef DEVICE_LOWER_LOWER_H
#define DEVICE_LOWER_LOWER_H

#include <stdio.h>

#include "exec/code/code.h"
#include "ptx/ptx.h"

/* What ptxas gives at most, on every target: static shared memory to a kernel that it makes machine code of,
 * and constants to a module. */
enum { MAX_STATIC_SHARED = 0xc000, MAX_CONSTANTS = 0x10000 };

/* What lowering asks of the driver. release may be NULL. */
typedef struct LowerHost {
    void *closure;
    /* Memory of a variable, writable by the host: its address, or 0 when there is none left. */
    uint64_t (*allocate)(void *closure, const char *name, uint64_t size, uint64_t align, bool is_const);
    /* Gives back what allocate gave, when lowering fails afterwards. */
    void (*release)(void *closure, uint64_t address);
    Chunks *chunks;        /* where memory comes from and goes to, or NULL */
    bool as_written;       /* no FMA contraction: optimization level 0, code to be debugged */
    unsigned checks;       /* CHECK_*: what the code is to be checked for */
    uint32_t max_shared;  /* static shared memory of a kernel that comes as PTX; 0: as of machine code */
    bool linked;           /* by the driver's linker: what no kernel reaches may lack a definition */
} LowerHost;

/* NULL on failure, with the reason in the log. The module keeps nothing of the tree: it may be freed
 * afterwards. */
CodeModule *lower_module(const PtxModule *tree, const LowerHost *host, PtxLog *log);

/* Frees the code; the memory of the variables stays the host's. NULL is fine. */
void code_module_free(CodeModule *module);

#endif
