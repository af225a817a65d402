"""OpenGL without a window: a context of EGL made current, and OpenGL's functions, by ctypes alone.

Programs with a window take theirs from GLFW, pygame or Qt instead.
"""

import ctypes

# Of EGL.
PLATFORM_DEVICE, CUDA_DEVICE, OPENGL_API = 0x313F, 0x323A, 0x30A2
SURFACE_TYPE, PBUFFER_BIT, RENDERABLE_TYPE, OPENGL_BIT, NONE = 0x3033, 1, 0x3040, 8, 0x3038
WIDTH, HEIGHT = 0x3057, 0x3056
FUNCTION = ctypes.CFUNCTYPE


class NoOpenGL(RuntimeError):
    """No EGL library, or no display of it, can draw without a window."""


class Context:
    """Current in this thread until close(). On the GPU that is CUDA device `ordinal` where it has OpenGL."""

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
        address = self.egl.eglGetProcAddress(name.encode())
        if not address:
            raise NoOpenGL(f"EGL has no {name}")
        return FUNCTION(result, *arguments)(address)

    def _displays(self, ordinal):
        """Devices of EGL: first the one that is the CUDA device, then those that are none (Mesa)."""
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
        """Whether the display could make a context, which is current now."""
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
        """A function of OpenGL, untyped: pass ctypes where an argument is no int or pointer."""
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
        """No context is current any more."""
        self.egl.eglMakeCurrent(self.display, None, None, None)
        self.egl.eglDestroyContext(self.display, self.context)
