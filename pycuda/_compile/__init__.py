"""How pycuda.compiler turns CUDA C into code a driver loads.

modules.py    CudaModule, the base of modules made from source, and SourceModule
requests.py   requests of compilations, and what this process remembers of them
records.py    what earlier processes compiled for a request, while no file has changed
build.py      one compilation, from request to bytes
arguments.py  arguments of callers, checked and converted
target.py     the current device: its architecture, and whether it loads machine code or PTX
source.py     the extern "C" wrapping that keeps the user's line numbers
textures.py, attributes.py  rewriting of sources that NVRTC does not compile as nvcc does
includes.py   which files a source includes, and their contents as part of the cache key
options.py    nvcc's options as NVRTC's
installation.py  what decides which compiler is found
finder.py, libraries.py  NVRTC, nvcc, the CUDA headers and the libraries of this machine
cache.py, files.py  compiled code on disk, and errors of files
nvrtc.py      compiling in this process
nvcc.py       compiling by the nvcc command
report.py, progress.py  errors and warnings, and a message about a compilation that takes long
symbols.py    kernels and variables in code, and their C++ names
signatures.py  types of kernels' parameters, read from the source
tokens.py     comments and literals of C++ as regular expressions
"""
