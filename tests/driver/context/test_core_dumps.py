"""Settings of core dumps; the values are those of an H100's driver (580). Nothing here turns dumps on."""

import ctypes
from ctypes import byref, c_size_t

import pytest

import pycuda.driver as drv

SUCCESS, INVALID_VALUE, NOT_SUPPORTED = 0, 1, 801
# CUcoredumpSettings.
ON_EXCEPTION, TRIGGER_HOST, LIGHTWEIGHT, USER_TRIGGER, FILE, PIPE, FLAGS = range(1, 8)
TEXT = 1024  # bytes of a text
# The size of each value in bytes, and the settings that each context has.
SIZES = {ON_EXCEPTION: 1, TRIGGER_HOST: 1, LIGHTWEIGHT: 1, USER_TRIGGER: 1, FILE: TEXT, PIPE: TEXT, FLAGS: 4}
OF_CONTEXTS = sorted(SIZES.keys() - {USER_TRIGGER, PIPE})


class Settings:
    """Settings of the current context (suffix ""), or of the process ("Global")."""

    def __init__(self, cuda, suffix):
        self.read = getattr(cuda, f"cuCoredumpGetAttribute{suffix}")
        self.write = getattr(cuda, f"cuCoredumpSetAttribute{suffix}")

    def get(self, setting, size=None):
        """The bytes of the value, or the driver's error code; size: of the buffer, None for the right one."""
        value, length = ctypes.create_string_buffer(TEXT), c_size_t(SIZES[setting] if size is None else size)
        result = self.read(setting, value, byref(length))
        return result or value.raw[: length.value]

    def set(self, setting, value):
        return self.write(setting, value, byref(c_size_t(len(value))))

    def size(self, setting):
        """(result, size) of a query without a buffer; where the driver writes no size it is 5."""
        length = c_size_t(5)
        result = self.read(setting, None, byref(length))
        return result, length.value


@pytest.fixture
def context():
    """A context of this test alone, so that its settings are the initial ones."""
    drv.init()
    context = drv.Device(0).make_context()
    yield context
    context.pop()
    context.detach()


@pytest.fixture(params=["", "Global"], ids=["context", "process"])
def settings(context, driver_library, request):
    return Settings(ctypes.CDLL(driver_library), request.param)


@pytest.fixture
def own(context, driver_library):
    return Settings(ctypes.CDLL(driver_library), "")


def test_sizes_of_values(settings):
    """A query without a buffer returns the size; a setting that the scope lacks is an error."""
    known = sorted(SIZES) if settings.read.__name__.endswith("Global") else OF_CONTEXTS
    for which in range(10):
        expected = (SUCCESS, SIZES[which]) if which in known else (INVALID_VALUE, 5)
        assert settings.size(which) == expected
    assert settings.read(ON_EXCEPTION, None, None) == INVALID_VALUE


def test_initial_values(settings):
    """No dump is written on exceptions; TRIGGER_HOST is on, but has an effect with dumps only."""
    found = [settings.get(which) for which in (ON_EXCEPTION, TRIGGER_HOST, LIGHTWEIGHT, FLAGS)]
    assert found == [b"\0", b"\1", b"\0", bytes(4)]
    assert settings.get(FILE) == bytes(TEXT)


@pytest.mark.parametrize("which, size", [(ON_EXCEPTION, 4), (LIGHTWEIGHT, 0), (FLAGS, 1), (FLAGS, 8)])
def test_values_of_wrong_sizes_are_refused(settings, which, size):
    assert settings.get(which, size) == settings.set(which, bytes(size)) == INVALID_VALUE


def test_texts_may_be_shorter_and_not_longer(own):
    """A text is padded with zeros; a buffer must have room for the text and one zero."""
    assert own.set(FILE, b"abc") == SUCCESS
    assert own.get(FILE) == b"abc".ljust(TEXT, b"\0")
    assert own.get(FILE, 4) == b"abc\0"
    assert own.get(FILE, 2) == INVALID_VALUE
    assert own.set(FILE, b"x" * (TEXT - 1) + b"\0") == SUCCESS
    assert own.set(FILE, bytes(2000)) == INVALID_VALUE


def test_a_contexts_settings_do_not_change_the_processs(own, driver_library):
    process = Settings(ctypes.CDLL(driver_library), "Global")
    assert own.set(FLAGS, b"\x10\0\0\0") == own.set(FILE, b"here\0") == SUCCESS
    assert own.get(FLAGS) == b"\x10\0\0\0" and own.get(FILE, 5) == b"here\0"
    assert process.get(FLAGS) == bytes(4) and process.get(FILE) == bytes(TEXT)


def test_two_booleans_are_views_of_the_flags(own):
    """TRIGGER_HOST and LIGHTWEIGHT are combinations of the flags: setting the ones changes the others."""

    def after(which, value):
        """Sets one; returns TRIGGER_HOST, LIGHTWEIGHT and the two low bytes of FLAGS."""
        assert own.set(which, value) == SUCCESS
        return own.get(TRIGGER_HOST) + own.get(LIGHTWEIGHT) + own.get(FLAGS)[:2]

    assert after(FLAGS, b"\x10\0\0\0") == b"\0\0\x10\0"
    assert after(TRIGGER_HOST, b"\1") == b"\1\0\0\0"
    assert after(LIGHTWEIGHT, b"\1") == b"\1\1\x2f\0"
    assert after(LIGHTWEIGHT, b"\0") == b"\1\0\0\0"
    assert after(TRIGGER_HOST, b"\0") == b"\0\0\x10\0"
    assert after(FLAGS, b"\xff\1\0\0") == b"\0\1\xff\1"


def test_a_context_begins_with_those_of_the_process(own, driver_library):
    process = Settings(ctypes.CDLL(driver_library), "Global")
    assert process.set(FILE, b"there\0") == SUCCESS
    assert own.get(FILE) == bytes(TEXT)  # this context was made before
    later = drv.Device(0).make_context()
    assert own.get(FILE, 6) == b"there\0"
    later.pop()
    later.detach()
    assert process.set(FILE, b"\0") == SUCCESS


def test_setting_without_a_value_is_no_error_and_without_a_size_is_one(settings):
    length = c_size_t(5)
    assert settings.write(FLAGS, None, byref(length)) == SUCCESS
    assert settings.write(FLAGS, bytes(4), None) == INVALID_VALUE


@pytest.mark.cpu("a GPU writes dumps")
def test_dumps_are_refused(settings, driver_library):
    assert settings.set(ON_EXCEPTION, b"\1") == NOT_SUPPORTED
    assert settings.set(ON_EXCEPTION, b"\0") == SUCCESS
    process = Settings(ctypes.CDLL(driver_library), "Global")
    assert process.set(USER_TRIGGER, b"\1") == NOT_SUPPORTED
