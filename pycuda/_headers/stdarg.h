/* va_list and its macros are NVRTC's own. */
