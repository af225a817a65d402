/* assert is NVRTC's own, but NDEBUG is evaluated at each inclusion. */
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
