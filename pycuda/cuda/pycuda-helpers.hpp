// Floating-point numbers of any type in textures and surfaces, which support neither doubles nor complex
// numbers: fp_tex_* are the integers that store them there, fp_tex* and fp_surf* read and write the numbers
// themselves.
#ifndef PYCUDA_HELPERS_HPP
#define PYCUDA_HELPERS_HPP

#include "pycuda-complex.hpp"
#include "pycuda-textures.hpp"

extern "C++" {

typedef float fp_tex_float;
typedef int2 fp_tex_double;
typedef uint2 fp_tex_cfloat;
typedef int4 fp_tex_cdouble;

// ---- numbers from elements of textures

template <class T> __device__ __forceinline__ T fp_tex_value(T value) { return value; }

__device__ __forceinline__ double fp_tex_value(fp_tex_double value)
{
    return __hiloint2double(value.y, value.x);
}

__device__ __forceinline__ pycuda::complex<float> fp_tex_value(fp_tex_cfloat value)
{
  return pycuda::complex<float>(__int_as_float(value.x), __int_as_float(value.y));
}

__device__ __forceinline__ pycuda::complex<double> fp_tex_value(fp_tex_cdouble value)
{
  return pycuda::complex<double>(__hiloint2double(value.y, value.x), __hiloint2double(value.w, value.z));
}

// The number type that a texture<T> stores.
template <class T> struct fp_tex_number { typedef T type; };
template <> struct fp_tex_number<fp_tex_double> { typedef double type; };
template <> struct fp_tex_number<fp_tex_cfloat> { typedef pycuda::complex<float> type; };
template <> struct fp_tex_number<fp_tex_cdouble> { typedef pycuda::complex<double> type; };

template <class T, cudaTextureReadMode mode>
__device__ __forceinline__ typename fp_tex_number<T>::type
fp_tex1Dfetch(texture<T, cudaTextureType1D, mode> reference, int i)
{
  return fp_tex_value(tex1Dfetch(reference, i));
}

template <class T, cudaTextureReadMode mode>
__device__ __forceinline__ typename fp_tex_number<T>::type
fp_tex2D(texture<T, cudaTextureType2D, mode> reference, float i, float j)
{
  return fp_tex_value(tex2D(reference, i, j));
}

template <class T, cudaTextureReadMode mode>
__device__ __forceinline__ typename fp_tex_number<T>::type
fp_tex2DLayered(texture<T, cudaTextureType2DLayered, mode> reference, float i, float j, int layer)
{
  return fp_tex_value(tex2DLayered(reference, i, j, layer));
}

template <class T, cudaTextureReadMode mode>
__device__ __forceinline__ typename fp_tex_number<T>::type
fp_tex3D(texture<T, cudaTextureType3D, mode> reference, float i, float j, float k)
{
  return fp_tex_value(tex3D(reference, i, j, k));
}

// ---- numbers to elements of surfaces

// The element of a surface that stores a number of type T.
template <class T> struct fp_surf_texel
{
  typedef T type;
  static __device__ __forceinline__ T of(T value) { return value; }
};

template <> struct fp_surf_texel<double>
{
  typedef fp_tex_double type;
  static __device__ __forceinline__ type of(double value)
  {
    return make_int2(__double2loint(value), __double2hiint(value));
  }
};

template <> struct fp_surf_texel<pycuda::complex<float> >
{
  typedef fp_tex_cfloat type;
  static __device__ __forceinline__ type of(pycuda::complex<float> value)
  {
    return make_uint2(__float_as_int(value.real()), __float_as_int(value.imag()));
  }
};

template <> struct fp_surf_texel<pycuda::complex<double> >
{
  typedef fp_tex_cdouble type;
  static __device__ __forceinline__ type of(pycuda::complex<double> value)
  {
    return make_int4(__double2loint(value.real()), __double2hiint(value.real()), __double2loint(value.imag()),
                     __double2hiint(value.imag()));
  }
};

// Here i counts elements; for CUDA's functions it counts bytes.
template <class T>
__device__ __forceinline__ void fp_surf2DLayeredwrite(T value,
                                                      surface<void, cudaSurfaceType2DLayered> reference,
                                                      int i, int j, int layer,
                                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
  surf2DLayeredwrite(fp_surf_texel<T>::of(value), reference, i * sizeof(T), j, layer, mode);
}

template <class T>
__device__ __forceinline__ void fp_surf2DLayeredread(T *value,
                                                     surface<void, cudaSurfaceType2DLayered> reference, int i,
                                                     int j, int layer,
                                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
  *value = fp_tex_value(
    surf2DLayeredread<typename fp_surf_texel<T>::type>(reference, i * sizeof(T), j, layer, mode));
}

template <class T>
__device__ __forceinline__ void fp_surf3Dwrite(T value, surface<void, cudaSurfaceType3D> reference, int i,
                                               int j, int k,
                                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
  surf3Dwrite(fp_surf_texel<T>::of(value), reference, i * sizeof(T), j, k, mode);
}

template <class T>
__device__ __forceinline__ void fp_surf3Dread(T *value, surface<void, cudaSurfaceType3D> reference, int i,
                                              int j, int k,
                                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
  *value = fp_tex_value(surf3Dread<typename fp_surf_texel<T>::type>(reference, i * sizeof(T), j, k, mode));
}

}

#endif
