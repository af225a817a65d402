/* Names and texts of errors for kernels: two arrays of strings, entered into the memory map when they are
 * first requested.
 */
#include "exec/runtime/errors.h"

#include <pthread.h>
#include <string.h>

#include "exec/memory/memory_map.h"

static const int name_codes[] = {
#define RUNTIME_ERROR(name, code) code,
#include "exec/runtime/errors.def"
#undef RUNTIME_ERROR
};

static const int text_codes[] = {
#define CU_ERROR(name, code, kind, text) code,
#define RUNTIME_TEXT(code, text) code,
#include "abi/cuda_errors.def"
#include "exec/runtime/errors.def"
#undef CU_ERROR
#undef RUNTIME_TEXT
};

/* The strings in the order of the codes, each ended by a zero; the text of unknown codes comes last. */
static const char names[] =
#define RUNTIME_ERROR(name, code) #name "\0"
#include "exec/runtime/errors.def"
#undef RUNTIME_ERROR
    "unrecognized error code";

static const char texts[] =
#define CU_ERROR(name, code, kind, text) text "\0"
#define RUNTIME_TEXT(code, text) text "\0"
#include "abi/cuda_errors.def"
#include "exec/runtime/errors.def"
#undef CU_ERROR
#undef RUNTIME_TEXT
    "unrecognized error code";

/* The address of the string of an error, after its array is in the memory map; 0 if it cannot be entered. */
static uint64_t find_string(struct MemoryMap *memory, const char *strings, size_t size, const int *codes,
                            size_t count, int error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    MemoryRequest request = {.size = size, .align = 1, .kind = MEMORY_REGISTERED, .read_only = true};
    MemoryRange range;
    uint64_t address = (uintptr_t)strings;
    pthread_mutex_lock(&lock);
    bool mapped = memory_map_find(memory, address, &range) || memory_map_register(memory, address, &request);
    pthread_mutex_unlock(&lock);
    if (!mapped) return 0;
    for (size_t k = 0; k < count && codes[k] != error; k++) strings += strlen(strings) + 1;
    return (uintptr_t)strings;
}

uint64_t runtime_error_name(struct MemoryMap *memory, int error)
{
    return find_string(memory, names, sizeof names, name_codes, sizeof name_codes / sizeof *name_codes,
                       error);
}

uint64_t runtime_error_text(struct MemoryMap *memory, int error)
{
    return find_string(memory, texts, sizeof texts, text_codes, sizeof text_codes / sizeof *text_codes,
                       error);
}
