/* The two types of OpenGL's own header that NVIDIA's cudaGL.h needs. */
typedef unsigned int GLenum;
typedef unsigned int GLuint;
