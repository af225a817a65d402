"""Every public callable documents its parameters, for inspect.signature, help() and editors.

`make lint` compares the stubs with these signatures by mypy's stubtest.
"""

import importlib
import inspect
import re

import pytest

import pycuda.driver as drv
from pycuda import _driver
from pycuda.compiler import SourceModule

MODULES = (
    "_driver driver compiler gpuarray cumath elementwise reduction scan curandom sparse sparse.coordinate "
    "sparse.packeted sparse.operator sparse.cg sparse.inner tools characterize debug autoprimaryctx "
    "compyte.array compyte.dtypes"
).split()
# A row of "Parameters" in a docstring: "a, b : int", "*args : object"; the group is the names.
ROW = re.compile(r"^([*\w]+(?:, [*\w]+)*)(?: : .+)?$", re.M)


def public_callables():
    """(name, callable) of the functions, classes and methods that have a public name."""
    for module in MODULES:
        for name, value in vars(importlib.import_module(f"pycuda.{module}")).items():
            if name.startswith("_") or not callable(value) or isinstance(value, type(re)):
                continue
            if not (getattr(value, "__module__", None) or "pycuda._driver").startswith("pycuda"):
                continue
            yield f"{module}.{name}", value
            if inspect.isclass(value):
                for part in vars(value):
                    member = inspect.getattr_static(value, part)
                    own = not part.startswith("_") or (
                        part in ("__call__", "__enter__", "__exit__")
                        and not isinstance(member, type(int.__add__))
                    )
                    if own and callable(getattr(value, part)) and not inspect.isclass(getattr(value, part)):
                        yield f"{module}.{name}.{part}", getattr(value, part)


CALLABLES = dict(public_callables())
# Without the exceptions that have the constructor of Python's own, which has no signature.
WITH_SIGNATURE = {
    name: call
    for name, call in CALLABLES.items()
    if not (inspect.isclass(call) and call.__init__ in (RuntimeError.__init__, KeyError.__init__))
    or name.startswith("_driver")
}


def text_of(call):
    return inspect.getdoc(call) or ""


def documented_parameters(call):
    """The names below "Parameters" in the docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text_of(call), re.M | re.S)
    rows = ROW.findall(section[1]) if section else []
    return [name.lstrip("*") for row in rows for name in row.split(", ")]


def parameters_of(call):
    """The names of the public parameters, without self."""
    names = [name for name in inspect.signature(call).parameters if not name.startswith("_")]
    return names[1:] if names and names[0] == "self" else names


def test_there_are_many():
    assert len(CALLABLES) > 330


def test_every_callable_has_a_signature():
    without = []
    for name, call in WITH_SIGNATURE.items():
        try:
            inspect.signature(call)
        except ValueError as problem:
            without.append(f"{name}: {problem}")
    assert not without


def test_every_callable_has_a_docstring():
    assert [name for name, call in CALLABLES.items() if not inspect.getdoc(call)] == []


def test_docstrings_do_not_repeat_the_signature():
    repeated = [
        name
        for name, call in CALLABLES.items()
        if re.match(rf"{name.split('.')[-1]}\(", text_of(call)) and not name.startswith("gpuarray.")
    ]
    assert not repeated


def test_docstrings_describe_the_parameters():
    """Docstrings have all parameters in numpydoc's form, or none if the text describes them; functions of the
    native module must have them."""
    wrong = {}
    for name, call in WITH_SIGNATURE.items():
        documented, taken = documented_parameters(call), parameters_of(call)
        of_the_native_module = name.startswith("_driver.") and not inspect.isclass(call)
        if documented != taken and (documented or (of_the_native_module and taken)):
            wrong[name] = documented, taken
    # An old name that refers to the new one, and methods whose parameters Python defines.
    exempt = {"_driver.Stream.add_callback"}
    exempt |= {f"_driver.{name}.__exit__" for name in ("Stream", "StreamCapture", "Context")}
    assert {name: lists for name, lists in wrong.items() if name not in exempt} == {}


@pytest.mark.parametrize("module", ["Function", "Linker", "GPUArray", "Stream"])
def test_help_shows_the_parameters(module):
    """help() has the parameters, and not the "--" that ends a text signature in C."""
    import pydoc

    text = pydoc.plain(pydoc.render_doc(getattr(drv, module) if module != "GPUArray" else _driver.GPUArray))
    assert "Parameters" in text and "--\n\n" not in text.replace("-\n\n", "")


class Unusable:
    """A value that every call refuses, whatever the parameter."""

    def __bool__(self):
        raise TypeError("unusable")


def reads_by_signature(call):
    """Whether the call is of the kind that sorts its arguments in C by its text signature (READ_ARGUMENTS):
    all its parameters may be passed by position and by name."""
    kinds = {parameter.kind for parameter in inspect.signature(call).parameters.values()}
    return kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD} and len(kinds) == 1


def test_functions_take_the_parameters_of_their_signature():
    """Functions of the native module take their documented parameters by name, and no others. A signature
    with fewer parameters than the code reads would raise SystemError."""
    wrong = []
    for name, call in CALLABLES.items():
        short = name.removeprefix("_driver.")
        native_function = name != short and "." not in short and short not in drv_constants()
        if not native_function or not reads_by_signature(call):
            continue
        for keywords in [{}, {"nonsense": 1}, *({word: Unusable()} for word in parameters_of(call))]:
            try:
                call(**keywords)
            except Exception as problem:
                text = str(problem)
                unknown = "unexpected keyword argument" in text
                if isinstance(problem, SystemError) or unknown != ("nonsense" in keywords):
                    wrong.append(f"{name}({keywords}): {text}")
    assert not wrong


def drv_constants():
    """The names of the classes of constants, whose constructor is int's."""
    return {
        name for name, value in vars(_driver).items() if inspect.isclass(value) and issubclass(value, int)
    }


def test_launches_take_the_keywords_of_their_signature(primary_context):
    """Each launch method takes all its documented keywords, with their defaults, and no other."""
    kernel = SourceModule("__global__ void nothing() {}").get_function("nothing").prepare("")
    positional = {"prepared_call": [(1, 1), (1, 1, 1)], "prepared_timed_call": [(1, 1), (1, 1, 1)]}
    positional["prepared_async_call"] = [(1, 1), (1, 1, 1), None]
    for name in ("__call__", *positional):
        documented = inspect.signature(getattr(kernel, name)).parameters.values()
        keywords = {each.name: each.default for each in documented if each.kind is each.KEYWORD_ONLY}
        assert len(keywords) == (11 if name == "__call__" else 6)
        if name == "__call__":
            assert keywords.pop("block") is inspect.Parameter.empty
            keywords["block"] = (1, 1, 1)
        getattr(kernel, name)(*positional.get(name, ()), **keywords)
        with pytest.raises((TypeError, ValueError), match="nonsense"):
            getattr(kernel, name)(*positional.get(name, ()), **keywords, nonsense=1)
    drv.Context.synchronize()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: drv.mem_alloc(), r"mem_alloc\(\) missing required argument 'bytes' \(pos 1\)"),
        (lambda: drv.memcpy_dtod(1, size=2), r"memcpy_dtod\(\) missing required argument 'src' \(pos 2\)"),
        (lambda: drv.memcpy_dtod(1, 2, 3, count=3), "memcpy_dtod.* multiple values for argument 'count'"),
        (lambda: drv.Stream(0, 0, 0), r"Stream\(\) takes at most 2 arguments \(3 given\)"),
        (lambda: drv.memcpy_htod(1, b"", None), r"memcpy_htod\(\) takes at most 2 arguments \(3 given\)"),
    ],
)
def test_messages_of_wrong_calls(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_defaults_are_those_that_are_used(primary_context):
    """A documented default is accepted, and has the same effect as leaving the argument out."""
    documented = {
        name: inspect.signature(getattr(drv, name)).parameters
        for name in ("Stream", "Event", "DeviceMemoryPool", "PageLockedMemoryPool", "managed_empty")
    }
    assert documented["Stream"]["priority"].default is None
    assert drv.Stream(0, None).priority == drv.Stream().priority
    for name in ("Event", "DeviceMemoryPool", "PageLockedMemoryPool"):
        getattr(drv, name)(**{key: each.default for key, each in documented[name].items()})
    assert documented["managed_empty"]["mem_flags"].default == drv.mem_attach_flags.GLOBAL
    descr = inspect.signature(drv.TextureObject).parameters
    assert descr["address_mode"].default == drv.address_mode.CLAMP
    assert descr["border_color"].default == (0, 0, 0, 0)
