/* Names and texts of error codes. Needs no initialized driver. */
#include "api/base/api.h"

typedef struct ErrorRow {
    int code;
    const char *name, *text;
} ErrorRow;

static const ErrorRow error_rows[] = {
#define CU_ERROR(name, code, cls, text) {code, #name, text},
#include "abi/cuda_errors.def"
#undef CU_ERROR
};

/* The row of abi/cuda_errors.def with that code, or NULL. */
static const ErrorRow *find_error_row(CUresult error)
{
    for (size_t i = 0; i < sizeof error_rows / sizeof *error_rows; i++)
        if (error_rows[i].code == (int)error) return &error_rows[i];
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const ErrorRow *row = find_error_row(error);
    *name = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    const ErrorRow *row = find_error_row(error);
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
