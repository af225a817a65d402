"""OpenGL without a window: a current context from EGL, and OpenGL's functions, with ctypes alone.

Programs with a window use the context of GLFW, pygame or Qt instead.
"""

import ctypes

# EGL's constants, by their names without EGL_ and _EXT or _NV.
PLATFORM_DEVICE, CUDA_DEVICE, OPENGL_API = 0x313F, 0x323A, 0x30A2
SURFACE_TYPE, PBUFFER_BIT, RENDERABLE_TYPE, OPENGL_BIT, NONE = 0x3033, 1, 0x3040, 8, 0x3038
WIDTH, HEIGHT = 0x3057, 0x3056
FUNCTION = ctypes.CFUNCTYPE


class NoOpenGL(RuntimeError):
    """There is no EGL library, or no display of EGL that can draw without a window."""


class Context:
    """A context of OpenGL, current in this thread until close(): on the GPU that is CUDA device `ordinal` or,
    if that has no OpenGL, on another device of EGL.
    """

    def __init__(self, ordinal=0):
        try:
            self.egl = ctypes.CDLL("libEGL.so.1")
        except OSError as error:
            raise NoOpenGL(str(error)) from None
        self.egl.eglGetProcAddress.restype = ctypes.c_void_p
        for display in self._displays(ordinal):
            if self._open(display):
                return
        raise NoOpenGL("no display of EGL has OpenGL")

    def _egl(self, name, result, *arguments):
        """The function of EGL of this name, with these types; NoOpenGL if EGL does not have it."""
        address = self.egl.eglGetProcAddress(name.encode())
        if not address:
            raise NoOpenGL(f"EGL has no {name}")
        return FUNCTION(result, *arguments)(address)

    def _displays(self, ordinal):
        """Yields displays of EGL's devices: first that of the CUDA device, then those that are not CUDA
        devices (Mesa).
        """
        pointer, count = ctypes.c_void_p, ctypes.c_int()
        devices = (pointer * 32)()
        query = self._egl("eglQueryDevicesEXT", ctypes.c_uint, ctypes.c_int, pointer, pointer)
        ask = self._egl("eglQueryDeviceAttribEXT", ctypes.c_uint, pointer, ctypes.c_int, pointer)
        get = self._egl("eglGetPlatformDisplayEXT", pointer, ctypes.c_uint, pointer, pointer)
        query(32, devices, ctypes.byref(count))
        cuda, others = [], []
        for device in devices[: count.value]:
            number = ctypes.c_ssize_t(-1)
            if ask(device, CUDA_DEVICE, ctypes.byref(number)) and number.value >= 0:
                cuda += [device] if number.value == ordinal else []
            else:
                others.append(device)
        for device in cuda + others:
            display = get(PLATFORM_DEVICE, device, None)
            if display:
                yield display

    def _open(self, display):
        """Makes a context of the display current; returns whether that was possible."""
        egl, pointer = self.egl, ctypes.c_void_p
        for name in "eglCreateContext", "eglCreatePbufferSurface":
            getattr(egl, name).restype = pointer
        numbers = lambda *values: (ctypes.c_int * len(values))(*values)  # noqa: E731
        major, minor, config, count = ctypes.c_int(), ctypes.c_int(), pointer(), ctypes.c_int()
        wanted = numbers(SURFACE_TYPE, PBUFFER_BIT, RENDERABLE_TYPE, OPENGL_BIT, NONE)
        self.display = pointer(display)
        if not egl.eglInitialize(self.display, ctypes.byref(major), ctypes.byref(minor)):
            return False
        egl.eglBindAPI(OPENGL_API)
        egl.eglChooseConfig(self.display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
        if not count.value:
            return False
        size = numbers(WIDTH, 16, HEIGHT, 16, NONE)
        self.surface = pointer(egl.eglCreatePbufferSurface(self.display, config, size))
        self.context = pointer(egl.eglCreateContext(self.display, config, None, numbers(NONE)))
        return bool(egl.eglMakeCurrent(self.display, self.surface, self.surface, self.context))

    def __getattr__(self, name):
        """The function of OpenGL of this name, without types: an argument that is neither an int nor a
        pointer must be of a ctypes type.
        """
        if not name.startswith("gl"):
            raise AttributeError(name)
        address = self.egl.eglGetProcAddress(name.encode())
        function = ctypes.CFUNCTYPE(ctypes.c_void_p)(address)
        function.argtypes = None
        setattr(self, name, function)
        return function

    def make(self, what):
        """The name of a new object: make("Buffers") is glGenBuffers for one."""
        name = ctypes.c_uint()
        getattr(self, f"glGen{what}")(1, ctypes.byref(name))
        return name.value

    def close(self):
        """Destroys the context; none is current then."""
        self.egl.eglMakeCurrent(self.display, None, None, None)
        self.egl.eglDestroyContext(self.display, self.context)
