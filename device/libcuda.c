/* The library named libcuda.so: it depends on libcuda.so.1 in its folder, so dlsym finds the driver API. */
typedef int a_file_declares_something;
