"""Every public name exists, takes the parameters it is known for, has a docstring and a type stub.

The names are in names.txt.
"""

import ast
import importlib
import inspect
import re
import types
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import pycuda

TABLE = Path(__file__).with_name("names.txt")
WITH_ALL = ["compiler", "curandom", "elementwise", "gpuarray", "reduction", "scan"]  # modules with an __all__
# "method Class.name(a, b)", "constants name: A B", "exception name < base"; names.txt explains them.
ROW = re.compile(r"(\w+) ([\w.]+)(?:\((.*)\))?(?:: (.*)| < (\w+))?")


class Row(NamedTuple):
    module: str
    kind: str
    name: str
    parameters: list[str] | None
    by_position: bool  # the parameters' names are not part of the interface
    members: list[str]  # names of constants
    base: str | None  # of an exception


def read_table():
    """The rows of names.txt."""
    module = None
    for line in TABLE.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("module "):
            module = line.split()[1]
            continue
        kind, name, parameters, members, base = ROW.fullmatch(line).groups()
        names = re.findall(r"\w+", parameters) if parameters is not None else None
        yield Row(module, kind, name, names, "/" in (parameters or ""), (members or "").split(), base)


ROWS = list(read_table())


def label(row):
    """The id of the row's test."""
    return f"{row.module}.{row.name}" + (f"-{row.members[0]}" if row.members else "")


def find(row):
    """The value that the row names."""
    value = importlib.import_module(row.module)
    for part in row.name.split("."):
        value = getattr(value, part)
    return value


def of_kind(*kinds):
    """The rows of these kinds, as parameters of a test."""
    return [pytest.param(row, id=label(row)) for row in ROWS if row.kind in kinds]


class Unusable:
    """A value that every call refuses, whatever the parameter."""

    def __getattr__(self, name):
        raise AttributeError(name)

    def __bool__(self):
        raise TypeError("unusable")


def signature(call):
    """The signature of a function or class written in Python; None for one written in C."""
    target = vars(call).get("__init__") if inspect.isclass(call) else call
    return inspect.signature(target) if inspect.isfunction(target) else None


def takes(call, names):
    """Whether the call has parameters of all these names. One written in C is called with each of them and a
    value that it refuses: a name that it does not have is refused by another message."""
    if signature(call):
        return all(name in signature(call).parameters for name in names)
    for name in names:
        try:
            call(**{name: Unusable()})
        except Exception as problem:
            if re.search("unexpected keyword|no keyword|extra keyword", str(problem)):
                return False
    return True


def test_a_parameter_that_no_callable_has_is_not_taken():
    import pycuda.driver as drv
    from pycuda.compiler import SourceModule

    assert not takes(drv.memcpy_htod, ["dest", "nonsense"])
    assert not takes(drv.Array, ["nonsense"])
    assert not takes(SourceModule, ["nonsense"])
    assert not takes(instances()["Function"], ["nonsense"])


def test_the_table_has_rows_of_every_kind():
    assert len(ROWS) > 300
    assert {row.kind for row in ROWS} == {
        "function", "class", "method", "attribute", "exception", "constants", "value"
    }  # fmt: skip


@pytest.mark.parametrize("row", of_kind("exception"))
def test_exceptions(row):
    module = importlib.import_module(row.module)
    base = Exception if row.base == "Exception" else getattr(module, row.base)
    assert issubclass(find(row), base)
    assert find(row).__doc__


@pytest.mark.parametrize("row", of_kind("constants"))
def test_constants(row):
    cls = find(row)
    missing = [name for name in row.members if not isinstance(getattr(cls, name, None), int)]
    assert not missing, " ".join(missing)
    assert cls.__doc__


@pytest.mark.parametrize("row", of_kind("value"))
def test_values(row):
    find(row)


@pytest.mark.parametrize("row", of_kind("attribute"))
def test_attributes(row):
    assert find(row).__doc__


@pytest.mark.parametrize("row", of_kind("function"))
def test_functions(row):
    function = find(row)
    assert callable(function) and function.__doc__
    assert row.by_position or takes(function, row.parameters)


@pytest.mark.parametrize("row", of_kind("class"))
def test_classes(row):
    cls = find(row)
    assert inspect.isclass(cls) and cls.__doc__
    assert row.by_position or not row.parameters or takes(cls, row.parameters)


@pytest.mark.parametrize("row", of_kind("method"))
def test_methods(row):
    method = find(row)
    assert callable(method) and method.__doc__


OTHER_NAMES = {"count": "size"}  # PyCUDA's documentation has one name, its code the other


@pytest.mark.parametrize("row", of_kind("function", "class", "method"))
def test_parameters_come_in_this_order(row):
    """A call may pass them by position."""
    found = inspect.signature(find(row)).parameters if row.parameters else {}
    by_position = [name for name, each in found.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    if by_position[:1] == ["self"]:
        del by_position[0]
    elif not row.parameters or "args" in found or "type" in found:
        return  # (type, *args) is the signature of a callable that has none of its own
    wanted = [name if name in found else OTHER_NAMES.get(name) for name in row.parameters]
    assert row.by_position or by_position[: len(wanted)] == wanted


def instances():
    """{class name: an instance}, through which the methods are called."""
    import pycuda.driver as drv
    from pycuda.compiler import SourceModule

    source = "texture<float> tex; surface<void, 1> surf; __global__ void nothing() {}"
    module = SourceModule(source).module
    function = module.get_function("nothing")
    function.prepare("")
    descr = drv.ArrayDescriptor()
    descr.width, descr.format, descr.num_channels = 4, drv.array_format.FLOAT, 1
    return {
        "Device": drv.Device(0),
        "Context": drv.Context.get_current(),
        "GreenContext": drv.GreenContext(drv.Device(0).get_resource()),
        "DeviceResource": drv.Device(0).get_resource(),
        "Stream": drv.Stream(),
        "Event": drv.Event(),
        "DeviceAllocation": drv.mem_alloc(4),
        "DeviceMemoryPool": drv.DeviceMemoryPool(),
        "PooledDeviceAllocation": drv.DeviceMemoryPool().allocate(4),
        "StreamOrderedMemoryPool": drv.StreamOrderedMemoryPool(),
        "PageLockedMemoryPool": drv.PageLockedMemoryPool(),
        "PointerHolderBase": drv.PointerHolderBase(),
        "ManagedAllocation": drv.managed_empty(1, "i4").base,
        "MipmappedArray": drv.MipmappedArray(descr),
        "Module": module,
        "TextureReference": module.get_texref("tex"),
        "SurfaceReference": module.get_surfref("surf"),
        "Linker": drv.Linker(),
        "Function": function,
        **{name: getattr(drv, name)(np.zeros(1)) for name in ("ArgumentHandler", "In", "Out", "InOut")},
        "Memcpy2D": drv.Memcpy2D(),
        "Memcpy3D": drv.Memcpy3D(),
        "Memcpy3DPeer": drv.Memcpy3DPeer(),
    }


def test_parameters_of_methods():
    objects = instances()
    wrong = []
    for row in ROWS:
        cls, _, method = row.name.partition(".")
        if row.kind != "method" or row.by_position or not row.parameters:
            continue
        if row.module != "pycuda.driver":
            assert takes(find(row), row.parameters), row.name
        elif not takes(getattr(objects[cls], method), row.parameters):
            wrong.append(row.name)
    assert not wrong


def test_arguments_by_name_do_what_they_do_by_position():
    import pycuda.driver as drv
    from pycuda.compyte import dtypes

    host, back = np.arange(4.0), np.empty(4)
    memory = drv.to_device(bf_obj=host)
    drv.memcpy_dtoh(back, memory)
    assert (back == host).all()
    assert drv.mem_get_address_range(ptr=drv.mem_alloc_like(ary=host))[1] >= host.nbytes
    start, end = drv.Event().record(), drv.Event().record()
    end.synchronize()
    assert end.time_since(start_event=start) == start.time_till(end_event=end) == end.time_since(start)
    handler = drv.InOut(host)
    assert isinstance(handler, drv.In) and isinstance(handler, drv.Out)
    handler.pre_call(stream=None)
    host[:] = 0
    handler.post_call(stream=drv.Stream())
    assert (host == np.arange(4)).all()
    assert drv.Device(0).get_attribute(attr=drv.device_attribute.WARP_SIZE) == 32
    registry = dtypes.DTypeRegistry()
    dtypes.fill_registry_with_c_types(reg=registry, respect_windows=False)
    dtypes.fill_registry_with_c99_stdint_types(reg=registry)
    assert registry.get_or_register_dtype(names="int8_t") == registry.get_or_register_dtype(c_names="int8_t")
    read = dtypes.parse_c_arg_backend(
        "float x", scalar_arg_factory=lambda *a: a, vec_arg_factory=None, name_to_dtype=registry
    )
    assert read == (np.float32, "x")


# ---- Stubs


def stub_names():
    """The names, "name" and "Class.name", in the stub of the native module and in pycuda.gpuarray's class
    GPUArray, which the native module exports too and whose source has the annotations."""
    folder = Path(pycuda.__file__).parent  # the installed one
    nodes = ast.parse((folder / "_driver.pyi").read_text()).body
    arrays = ast.parse((folder / "gpuarray.py").read_text()).body
    nodes += [node for node in arrays if isinstance(node, ast.ClassDef) and node.name == "GPUArray"]
    names = set()
    for node in nodes:
        names.update(names_of(node))
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            names.update(f"{node.name}.{name}" for part in node.body for name in names_of(part))
            names.update(
                f"{node.name}.{name.partition('.')[2]}"
                for base in bases
                for name in list(names)
                if name.startswith(base + ".")
            )
    return names


def names_of(node):
    """The names that a statement of a stub defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def test_stubs():
    """Every name of the table that the native module has is in its stub; private and special methods need not
    be."""
    native = importlib.import_module("pycuda._driver")
    stubs, missing = stub_names(), []
    for row in ROWS:
        top = row.name.split(".")[0]
        if row.module != "pycuda.driver" or not hasattr(native, top):
            continue
        try:
            find(row)
        except AttributeError:
            continue
        names = [f"{row.name}.{member}" for member in row.members if member.isidentifier()] or [row.name]
        missing += [name for name in names if name not in stubs and not re.search(r"\._|^_", name)]
    assert not missing, " ".join(missing)


def public_parts():
    """(name, value) of every public name of the native module and of its classes, in the table or not."""
    native = importlib.import_module("pycuda._driver")
    for name, value in vars(native).items():
        if name.startswith("_") or name == "Constant":  # its stub is private
            continue
        yield name, value
        own = vars(value).items() if inspect.isclass(value) and value.__name__ == name else ()
        for part, member in own:
            written_in_c = not inspect.isfunction(member) and not isinstance(member, property | int | None)
            if not part.startswith("_") and written_in_c:
                yield f"{name}.{part}", member


def test_everything_public_has_a_docstring_and_a_stub():
    stubs = stub_names()
    mute = [name for name, value in public_parts() if not isinstance(value, int) and not value.__doc__]
    assert not mute, " ".join(mute)
    unknown = [name for name, _ in public_parts() if name not in stubs]
    assert not unknown, " ".join(unknown)


@pytest.mark.parametrize("name", ["driver", *WITH_ALL])
def test_module_attributes_name_the_public_module(name):
    """__module__, which pickle, help() and messages use, is a public module that has the value."""
    module = importlib.import_module(f"pycuda.{name}")
    listed = getattr(module, "__all__", None)
    names = [row.name for row in ROWS if row.module == module.__name__] if listed is None else listed
    kinds = type, types.FunctionType, types.BuiltinFunctionType
    values = {each: getattr(module, each) for each in names if "." not in each}
    values = {each: value for each, value in values.items() if isinstance(value, kinds)}
    assert len(values) > 1
    for each, value in values.items():
        home = importlib.import_module(value.__module__)
        assert "._" not in value.__module__ and getattr(home, value.__name__) is value, (each, value)


@pytest.mark.parametrize("name", WITH_ALL)
def test_dir_lists_what_is_public(name):
    module = importlib.import_module(f"pycuda.{name}")
    assert set(dir(module)) == set(module.__all__)
