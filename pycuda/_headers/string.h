/* memcpy and memset are NVRTC's own; the other functions for device code are defined here. */
#ifndef PYCUDA_STRING_H
#define PYCUDA_STRING_H

#include "stddef.h"

extern "C++" {

static inline __device__ size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

static inline __device__ int strcmp(const char *left, const char *right)
{
    while (*left && *left == *right)
        left++, right++;
    return (int)(unsigned char)*left - (int)(unsigned char)*right;
}

static inline __device__ int strncmp(const char *left, const char *right, size_t count)
{
    for (; count; count--, left++, right++)
        if (*left != *right || !*left)
            return (int)(unsigned char)*left - (int)(unsigned char)*right;
    return 0;
}

static inline __device__ char *strcpy(char *target, const char *source)
{
    for (size_t i = 0; (target[i] = source[i]) != 0; i++)
        ;
    return target;
}

static inline __device__ int memcmp(const void *left, const void *right, size_t count)
{
    const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;
    for (; count; count--, a++, b++)
        if (*a != *b)
            return (int)*a - (int)*b;
    return 0;
}

static inline __device__ void *memmove(void *target, const void *source, size_t count)
{
    unsigned char *to = (unsigned char *)target;
    const unsigned char *from = (const unsigned char *)source;
    if (to < from)
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    else
        for (size_t i = count; i; i--)
            to[i - 1] = from[i - 1];
    return target;
}

}

#endif
