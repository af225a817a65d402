/* The library named libcuda.so: it depends on libcuda.so.1 beside it, where dlsym finds the driver API. */
typedef int a_file_declares_something;
