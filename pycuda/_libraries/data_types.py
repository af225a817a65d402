"""The numbers of dtypes in NVIDIA's libraries."""

# cudaDataType_t, by the dtype's name.
CUDA_DATA_TYPES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "complex64": 4,
    "complex128": 5,
    "bfloat16": 14,
}
