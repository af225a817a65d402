/* The libraries libcuda.so and libcuda-names.so: they only depend on others in their folder (meson.build), so
 * dlsym finds the driver API in them. */
typedef int a_file_declares_something;
