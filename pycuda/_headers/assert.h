/* assert is NVRTC's own, but NDEBUG is looked at each time that a source asks for it. */
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
