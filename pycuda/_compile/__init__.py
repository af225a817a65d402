"""How pycuda.compiler turns CUDA C into code a driver loads.

arguments.py  arguments of callers, checked and converted
target.py     what the current device takes: its architecture, machine code or PTX
source.py     the extern "C" wrapping that keeps the user's line numbers
options.py    nvcc's options as NVRTC's
includes.py   which files a source includes, and their contents as part of the cache key
finder.py     NVRTC, nvcc and the CUDA headers of this machine
cache.py      compiled code on disk
nvrtc.py      compiling in this process
nvcc.py       compiling by the nvcc command
build.py      one compilation, from request to bytes
"""
