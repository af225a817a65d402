/* The PTX front end: text in, checked tree out. Never prints, never exits.
 *
 * Errors are kept in a log with line, column, the source line and a caret; readers of the tree append
 * to the same log with ptx_report, so that their messages look the same.
 */
#ifndef DEVICE_PTX_PTX_H
#define DEVICE_PTX_PTX_H

#include <stdarg.h>

#include "ptx/chunks.h"
#include "ptx/tree.h"

typedef enum PtxStatus {
    PTX_OK,
    PTX_INVALID,             /* CUDA_ERROR_INVALID_PTX */
    PTX_UNSUPPORTED_VERSION, /* CUDA_ERROR_UNSUPPORTED_PTX_VERSION */
    PTX_UNSUPPORTED_TARGET,  /* CUDA_ERROR_NO_BINARY_FOR_GPU: .target is newer than the device */
    PTX_OUT_OF_MEMORY,       /* CUDA_ERROR_OUT_OF_MEMORY */
    PTX_UNLINKABLE           /* CUDA_ERROR_INVALID_SOURCE: each text is valid, but they cannot be linked */
} PtxStatus;

/* Zero-initialize, then free with ptx_log_free. */
typedef struct PtxLog {
    char *text;      /* all messages, NUL-terminated; NULL while there are none */
    size_t length, capacity;
    int errors;
    PtxStatus status; /* of the first error */
    int line, column; /* of the first error */
} PtxLog;

typedef struct PtxOptions {
    const char *name;  /* what messages call the text; NULL: "ptx" */
    int max_version;   /* 90: PTX 9.0; 0: the newest this front end knows */
    int max_target;    /* 75: sm_75; 0: any */
    Chunks *chunks;    /* where memory comes from and goes to; NULL: the heap */
} PtxOptions;

/* Parses and checks `length` bytes of `text` (without a NUL at the end); options may be NULL. Returns a
 * module, which the caller frees with ptx_module_free; or NULL, and log->status and log->text say why. */
PtxModule *ptx_parse(const char *text, size_t length, const PtxOptions *options, PtxLog *log);
void ptx_module_free(PtxModule *module);
/* Joins one or more modules to a new one, which owns them from then on; ids in them are renumbered for the
 * joined module. On failure returns NULL with the reason in the log, and the modules are unchanged. */
PtxModule *ptx_link(PtxModule *const *parts, uint32_t count, PtxLog *log);

/* Whether ptx_link() could join these modules with others that define what they lack. If not, the reason is
 * in the log. */
bool ptx_link_fits(PtxModule *const *parts, uint32_t count, PtxLog *log);
/* An error of linking, in the words of NVIDIA's linker. */
void ptx_link_error(PtxLog *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error at a place of the text, with source line and caret. */
void ptx_report(const PtxModule *module, PtxLog *log, PtxStatus status, uint32_t line, uint32_t column,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Appends formatted text without a place; counts no error. */
void ptx_log_append(PtxLog *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ptx_log_append_list(PtxLog *log, const char *format, va_list list);
/* "" while empty. */
const char *ptx_log_text(const PtxLog *log);
void ptx_log_free(PtxLog *log);

#endif
