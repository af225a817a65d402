// Texture and surface references, which CUDA 12 removed, over texture and surface objects.
//
// A texture<T, dimension, mode> is a __constant__ variable: its declared properties, which the host reads,
// and the handle of a texture object, which the host writes before a launch. tex2D(tex, x, y) and similar
// functions read through that handle. pycuda._compile puts __constant__ in front of each declaration.
#ifndef PYCUDA_TEXTURES_HPP
#define PYCUDA_TEXTURES_HPP

// CUDA 11 still has templates of these names, which the host could not read.
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ < 12
#define texture pycuda_texture
#define surface pycuda_surface
#endif

extern "C++" {

// ---- element types of textures: pycuda_texel<T> has the format, a number of pycuda.driver.array_format

template <class T> struct pycuda_texel
{
    static_assert(sizeof(T) == 0,
                  "textures hold integers of 8, 16 and 32 bits and float, alone or in vectors of "
                  "1, 2 and 4; doubles as fp_tex_double of pycuda-helpers.hpp");
};

template <int Format, int Channels, class Normalized, class Gathered> struct pycuda_texel_of
{
  enum { format = Format, channels = Channels };
  typedef Normalized normalized;
  typedef Gathered gathered;
};

#define PYCUDA_TEXEL(type, format, channels, normalized, gathered) \
  template <> struct pycuda_texel<type> : pycuda_texel_of<format, channels, normalized, gathered> {};
#define PYCUDA_TEXELS(scalar, vector, format) \
  PYCUDA_TEXEL(scalar, format, 1, float, vector##4) \
  PYCUDA_TEXEL(vector##1, format, 1, float1, vector##4) \
  PYCUDA_TEXEL(vector##2, format, 2, float2, vector##4) \
  PYCUDA_TEXEL(vector##4, format, 4, float4, vector##4)
PYCUDA_TEXEL(char, 0x08, 1, float, char4)
PYCUDA_TEXELS(unsigned char, uchar, 0x01)
PYCUDA_TEXELS(unsigned short, ushort, 0x02)
PYCUDA_TEXELS(unsigned int, uint, 0x03)
PYCUDA_TEXELS(signed char, char, 0x08)
PYCUDA_TEXELS(short, short, 0x09)
PYCUDA_TEXELS(int, int, 0x0a)
PYCUDA_TEXELS(float, float, 0x20)
#undef PYCUDA_TEXELS
#undef PYCUDA_TEXEL

// The types of a fetched element and of gathered ones: T itself, or floats if reads are normalized.
template <class T, cudaTextureReadMode mode> struct pycuda_read
{
  typedef T type;
  typedef typename pycuda_texel<T>::gathered gathered;
};
template <class T> struct pycuda_read<T, cudaReadModeNormalizedFloat>
{
  typedef typename pycuda_texel<T>::normalized type;
  typedef float4 gathered;
};

// ---- the variables, in the layout that the host reads

// `mark`, by which the host recognizes them. In memory these are "PTEX" and "PSRF".
enum { PYCUDA_TEXTURE_MARK = 0x58455450, PYCUDA_SURFACE_MARK = 0x46525350 };

// The arguments are the initial settings: normalized coordinates, filter mode, address mode.
template <class T, int dimensions = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture
{
  unsigned long long handle;
  unsigned int mark;
  unsigned char kind, normalized_reads, format, channels, normalized, filter, address, unused;

  __host__ __device__ constexpr texture(int norm = 0, int filter_mode = 0, int address_mode = 1)
      : handle(0), mark(PYCUDA_TEXTURE_MARK), kind(dimensions & 0xff),
        normalized_reads(mode == cudaReadModeNormalizedFloat), format(pycuda_texel<T>::format),
        channels(pycuda_texel<T>::channels), normalized(norm != 0),
        filter(static_cast<unsigned char>(filter_mode)), address(static_cast<unsigned char>(address_mode)),
        unused(0)
  {
  }
};

template <class T, int dimensions = cudaSurfaceType1D> struct surface;
template <int dimensions> struct surface<void, dimensions>
{
  unsigned long long handle;
  unsigned int mark;
  unsigned char kind, unused[7];

  __host__ __device__ constexpr surface()
      : handle(0), mark(PYCUDA_SURFACE_MARK), kind(dimensions & 0xff), unused()
  {
  }
};

// ---- reading

#define PYCUDA_LIST(...) __VA_ARGS__
#define PYCUDA_FETCH(name, dimensions, result, parameters, arguments) \
  template <class T, cudaTextureReadMode mode> \
  static __device__ __forceinline__ typename pycuda_read<T, mode>::result name( \
    texture<T, dimensions, mode> reference, PYCUDA_LIST parameters) \
  { \
    return name<typename pycuda_read<T, mode>::result>(reference.handle, PYCUDA_LIST arguments); \
  }

PYCUDA_FETCH(tex1Dfetch, cudaTextureType1D, type, (int x), (x))
PYCUDA_FETCH(tex1D, cudaTextureType1D, type, (float x), (x))
PYCUDA_FETCH(tex2D, cudaTextureType2D, type, (float x, float y), (x, y))
PYCUDA_FETCH(tex3D, cudaTextureType3D, type, (float x, float y, float z), (x, y, z))
PYCUDA_FETCH(tex1DLayered, cudaTextureType1DLayered, type, (float x, int layer), (x, layer))
PYCUDA_FETCH(tex2DLayered, cudaTextureType2DLayered, type, (float x, float y, int layer), (x, y, layer))
PYCUDA_FETCH(texCubemap, cudaTextureTypeCubemap, type, (float x, float y, float z), (x, y, z))
PYCUDA_FETCH(texCubemapLayered, cudaTextureTypeCubemapLayered, type, (float x, float y, float z, int layer),
             (x, y, z, layer))

PYCUDA_FETCH(tex2Dgather, cudaTextureType2D, gathered, (float x, float y, int component = 0),
             (x, y, component))

PYCUDA_FETCH(tex1DLod, cudaTextureType1D, type, (float x, float level), (x, level))
PYCUDA_FETCH(tex2DLod, cudaTextureType2D, type, (float x, float y, float level), (x, y, level))
PYCUDA_FETCH(tex3DLod, cudaTextureType3D, type, (float x, float y, float z, float level), (x, y, z, level))
PYCUDA_FETCH(tex1DLayeredLod, cudaTextureType1DLayered, type, (float x, int layer, float level),
             (x, layer, level))
PYCUDA_FETCH(tex2DLayeredLod, cudaTextureType2DLayered, type, (float x, float y, int layer, float level),
             (x, y, layer, level))
PYCUDA_FETCH(texCubemapLod, cudaTextureTypeCubemap, type, (float x, float y, float z, float level),
             (x, y, z, level))
PYCUDA_FETCH(texCubemapLayeredLod, cudaTextureTypeCubemapLayered, type,
             (float x, float y, float z, int layer, float level), (x, y, z, layer, level))

PYCUDA_FETCH(tex1DGrad, cudaTextureType1D, type, (float x, float dx, float dy), (x, dx, dy))
PYCUDA_FETCH(tex2DGrad, cudaTextureType2D, type, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy))
PYCUDA_FETCH(tex3DGrad, cudaTextureType3D, type, (float x, float y, float z, float4 dx, float4 dy),
             (x, y, z, dx, dy))
PYCUDA_FETCH(tex1DLayeredGrad, cudaTextureType1DLayered, type, (float x, int layer, float dx, float dy),
             (x, layer, dx, dy))
PYCUDA_FETCH(tex2DLayeredGrad, cudaTextureType2DLayered, type,
             (float x, float y, int layer, float2 dx, float2 dy), (x, y, layer, dx, dy))
#undef PYCUDA_FETCH

// ---- surfaces: x in bytes

#define PYCUDA_SURFACE(suffix, dimensions, parameters, arguments) \
  template <class T> \
  static __device__ __forceinline__ T surf##suffix##read(surface<void, dimensions> reference, \
    PYCUDA_LIST parameters, cudaSurfaceBoundaryMode boundary = cudaBoundaryModeTrap) \
  { \
    return surf##suffix##read<T>(reference.handle, PYCUDA_LIST arguments, boundary); \
  } \
  template <class T> \
  static __device__ __forceinline__ void surf##suffix##read(T *result, surface<void, dimensions> reference, \
    PYCUDA_LIST parameters, cudaSurfaceBoundaryMode boundary = cudaBoundaryModeTrap) \
  { \
    *result = surf##suffix##read<T>(reference.handle, PYCUDA_LIST arguments, boundary); \
  } \
  template <class T> \
  static __device__ __forceinline__ void surf##suffix##write(T value, surface<void, dimensions> reference, \
    PYCUDA_LIST parameters, cudaSurfaceBoundaryMode boundary = cudaBoundaryModeTrap) \
  { \
    surf##suffix##write<T>(value, reference.handle, PYCUDA_LIST arguments, boundary); \
  }

PYCUDA_SURFACE(1D, cudaSurfaceType1D, (int x), (x))
PYCUDA_SURFACE(2D, cudaSurfaceType2D, (int x, int y), (x, y))
PYCUDA_SURFACE(3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
PYCUDA_SURFACE(1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer))
PYCUDA_SURFACE(2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), (x, y, layer))
PYCUDA_SURFACE(Cubemap, cudaSurfaceTypeCubemap, (int x, int y, int face), (x, y, face))
PYCUDA_SURFACE(CubemapLayered, cudaSurfaceTypeCubemapLayered, (int x, int y, int layer_face),
               (x, y, layer_face))
#undef PYCUDA_SURFACE
#undef PYCUDA_LIST

}

// Headers that declare textures are not rewritten: nvcc compiles them with this.
#if defined(PYCUDA_TEXTURES_IN_HEADERS) && !defined(__CUDACC_RTC__)
#if __CUDACC_VER_MAJOR__ < 12
#undef texture
#undef surface
#define texture __constant__ pycuda_texture
#define surface __constant__ pycuda_surface
#else
#define texture __constant__ texture
#define surface __constant__ surface
#endif
#endif

#endif
