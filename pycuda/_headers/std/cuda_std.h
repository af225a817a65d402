/* The names of the CUDA C++ library in std, where the host's library would have them. */
#ifndef PYCUDA_CUDA_STD_H
#define PYCUDA_CUDA_STD_H

extern "C++" {
namespace std
{
using namespace cuda::std;
}
}

#endif
