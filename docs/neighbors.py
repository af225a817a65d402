"""What the reference names after "See also" of a public name: the same function elsewhere, what NumPy names
with its function, and the groups of see_also.txt and of docs/examples.
"""

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import programs
import public

GROUPS = Path(__file__).with_name("see_also.txt")
NUMPYS = {
    "pycuda.gpuarray": np,
    "pycuda.numpy": np,
    "pycuda.numpy.linalg": np.linalg,
    "pycuda.numpy.fft": np.fft,
    "pycuda.gpuarray.GPUArray": np.ndarray,
}
# Where functions of arrays stand, and methods of that name.
SAME = "pycuda.gpuarray.GPUArray", "pycuda.gpuarray", "pycuda.numpy", "pycuda.cumath", "pycuda.numpy.special"
SECTION = re.compile(r"^See Also\n-+\n(.*?)(?=^[^\n]+\n---|\Z)", re.M | re.S)


def numpys(full):
    """NumPy's function or method that one of pycuda's stands for, or None."""
    module, _, name = full.rpartition(".")
    owner = NUMPYS.get(module)
    found = getattr(owner, name, None)
    if found is None or inspect.isclass(found) or not (callable(found) or owner is np.ndarray):
        return None
    return found


def neighbors(full):
    """The full names that are of interest to a reader of this one."""
    found = [*_same_name(full), *_of_numpy(full)]
    found += _of_bases(full, lambda name: grouped().get(name, []))
    found += _of_bases(full, programs.listed_with)
    return [name for name in dict.fromkeys(found) if name != full]


@functools.cache
def public_names():
    """The full names of the reference, and those of members of classes."""
    found = set()
    for module, name in public.shown():
        value = public.imported(module, name)
        found.add(f"{module}.{name}")
        if inspect.isclass(value):
            found |= {f"{module}.{name}.{member}" for member in public.members(value)}
    return found


def _same_name(full):
    owner, _, name = full.rpartition(".")
    return [f"{each}.{name}" for each in SAME if f"{each}.{name}" in public_names()] if owner in SAME else []


def _of_numpy(full):
    """Of what NumPy names after its See Also, the names that are here: in the same module, or in another."""
    text = inspect.getdoc(numpys(full)) or "" if numpys(full) is not None else ""
    section = SECTION.search(text)
    lines = re.findall(r"^(\S[^:\n]*)", section[1], re.M) if section else []
    found = []
    for name in re.findall(r"[\w.]+", " ".join(lines)):
        last = name.removeprefix("numpy.").replace("ndarray.", "GPUArray.")
        places = full.rpartition(".")[0], "pycuda.numpy", "pycuda.gpuarray"
        here = [f"{place}.{last}" for place in places if f"{place}.{last}" in public_names()]
        found += here[:1]
    return found


@functools.cache
def grouped():
    """{full name: names of its groups} of see_also.txt."""
    found = {}
    for line in GROUPS.read_text().splitlines():
        rows = [part.split(":") for part in line.partition("#")[0].split("|") if part.strip()]
        group = [f"{owner.strip()}.{name}" for owner, names in rows for name in names.split()]
        for name in group:
            found.setdefault(name, []).extend(group)
    return found


def _of_bases(full, related):
    """What related() has for a name; where that is nothing, what it has for another name of it, as for an
    inherited method, with members of that class replaced by those of this one.
    """
    owner = full.rpartition(".")[0]
    for name in (full, *programs.other_names(full)):
        if related(name):
            own = [each.replace(name.rpartition(".")[0], owner) for each in related(name)]
            pairs = zip(own, related(name), strict=True)
            return [mine if mine in public_names() else each for mine, each in pairs]
    return []


def without():
    """Yields the full names of the functions, classes and methods without any."""
    for module, name in public.shown():
        full, value = f"{module}.{name}", public.imported(module, name)
        if callable(value) and not public.constants(value):
            members = _methods(value) if getattr(value, "__name__", None) == name else []
            yield from (each for each in (full, *(f"{full}.{one}" for one in members)) if not neighbors(each))


def _methods(cls):
    """The names of the methods of a class that have descriptions, but `__call__`: the class has its examples.
    For `vec` none.
    """
    if not inspect.isclass(cls) or cls.__name__ == "vec":
        return []
    named = public.members(cls).keys() - public.listed(cls) - {"__call__"}
    return sorted(name for name in named if callable(getattr(cls, name)))
