"""Sources of kernels with PyCUDA's names (random_source, gen_template, ...), combined as PyCUDA combines
them."""

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.usefixtures("primary_context")

COUNT = 64  # states
GEOMETRY = {"grid": (2, 1), "block": (COUNT // 2, 1, 1)}


def built(state, vector, *parts):
    """The module of PyCUDA's templates for these types of states and of direction vectors; parts: further
    source. Skips the test if the header is missing."""
    generators = [
        curandom.gen_template % {"name": name, "out_type": kind, "suffix": suffix, "state_type": state}
        for name, kind, suffix in (("bits", "unsigned int", ""), ("uniform", "float", "_uniform"))
    ]
    normal = {"name": "log_normal", "in_type": "double", "out_type": "double", "suffix": "_normal_double"}
    generators.append(curandom.gen_log_template % {**normal, "state_type": state})
    if "Sobol" not in state:
        counts = {"name": "counts", "out_type": "unsigned int", "suffix": "", "state_type": state}
        generators.append(curandom.gen_poisson_template % counts)
    names = {"state_type": state, "vector_type": vector, "scramble_type": "unsigned int"}
    source = (curandom.random_source + "".join(parts)) % {**names, "generators": "\n".join(generators)}
    try:
        return SourceModule(source, no_extern_c=True)
    except drv.CompileError as error:
        if "cannot open source file" in str(error):
            pytest.skip("curand_kernel.h is not installed (the package nvidia-curand has it)")
        raise


def drawn(module, states, name, dtype, *parameters, count=COUNT):
    """`count` numbers from the kernel of that name, with these states and parameters."""
    out = np.zeros(count, dtype)
    module.get_function(name)(states, drv.Out(out), *parameters, np.int32(count), **GEOMETRY)
    return out


def seeds(count):
    """Seeds 5, 6, 7, ..."""
    return gpuarray.to_gpu(np.arange(5, 5 + count, dtype=np.int32))


@pytest.mark.parametrize("kind", ["XORWOW", "MRG32k3a"])
def test_pseudo_random(kind):
    """The first numbers of state g are elements 4 g to 4 g + 3 of an array of our generator."""
    name = kind.lower()
    module = built(
        f"curandState{kind}",
        "unsigned int",
        getattr(curandom, f"{name}_random_source"),
        getattr(curandom, f"{name}_skip_ahead_sequence_source"),
        curandom.random_skip_ahead64_source,
    )
    ours = getattr(curandom, f"{kind}RandomNumberGenerator")(seeds)
    states = drv.mem_alloc(COUNT * 256)
    module.get_function("prepare")(states, np.int32(COUNT), seeds(COUNT), np.uint32(0), **GEOMETRY)
    bits = ours.gen_uniform(4 * COUNT, np.uint32).get().reshape(COUNT, 4)
    assert (drawn(module, states, "bits", np.uint32) == bits[:, 0]).all()
    module.get_function("skip_ahead")(states, np.int32(COUNT), np.uint64(1), **GEOMETRY)
    assert (drawn(module, states, "bits", np.uint32) == bits[:, 2]).all()
    later = gpuarray.to_gpu(np.arange(COUNT, dtype=np.uint64))
    module.get_function("skip_ahead_array")(states, np.int32(COUNT), later, **GEOMETRY)
    assert drawn(module, states, "bits", np.uint32)[0] == bits[0, 3]
    kinds = "sequence", *(["subsequence"] if kind == "MRG32k3a" else [])
    for each in kinds:
        module.get_function(f"skip_ahead_{each}")(states, np.int32(COUNT), np.uint64(1), **GEOMETRY)
        module.get_function(f"skip_ahead_{each}_array")(states, np.int32(COUNT), later, **GEOMETRY)
    uniform = drawn(module, states, "uniform", np.float32, count=1001)
    assert ((uniform > 0) & (uniform <= 1)).all() and np.unique(uniform).size > 990
    logs = np.log(
        drawn(module, states, "log_normal", np.float64, np.float64(0.5), np.float64(0.25), count=1001)
    )
    assert abs(logs.mean() - 0.5) < 0.05 and abs(logs.std() - 0.25) < 0.05
    counts = drawn(module, states, "counts", np.uint32, np.float64(4), count=1001)
    assert abs(counts.mean() - 4) < 0.4 and abs(counts.var() - 4) < 1


@pytest.mark.parametrize("scrambled", [False, True])
def test_quasi_random(scrambled):
    state = "curandStateScrambledSobol32" if scrambled else "curandStateSobol32"
    module = built(
        state,
        "curandDirectionVectors32_t",
        curandom.scrambledsobol_random_source if scrambled else curandom.sobol_random_source,
        curandom.random_skip_ahead32_source,
    )
    vectors = curandom.generate_direction_vectors(COUNT, curandom.direction_vector_set.VECTOR_32)
    constants = np.arange(COUNT, dtype=np.uint32) * np.uint32(2654435761)
    scramble = (drv.In(constants),) if scrambled else ()
    states = drv.mem_alloc(COUNT * 256)
    module.get_function("prepare")(states, np.int32(COUNT), vectors, *scramble, np.uint32(0), **GEOMETRY)
    xored, table = constants if scrambled else np.uint32(0), vectors.get()
    assert (
        drawn(module, states, "bits", np.uint32) == xored
    ).all()  # point 0; the next ones follow Gray's code
    assert (drawn(module, states, "bits", np.uint32) == table[:, 0] ^ xored).all()
    module.get_function("skip_ahead")(states, np.int32(COUNT), np.uint32(1), **GEOMETRY)
    assert (drawn(module, states, "bits", np.uint32) == table[:, 1] ^ xored).all()
