"""Records of a GPU's results: for each function a digest of all results and 64 checksums of two bytes, one
for each part of the lanes. A record has no results themselves, which keeps the files small."""

import hashlib
import zlib
from dataclasses import dataclass

import numpy as np

from . import inputs, modules, table

PARTS = 64
# Functions that add several NaNs: which one is the result depends on the order of operands that ptxas
# chooses.
ANY_NAN = {"norm", "rnorm", "rhypot", "norm3d", "rnorm3d", "norm4d", "rnorm4d"}


QUIET_NAN = np.uint64(0x7FF8 << 48)  # of float64, with no payload


def digest(data, size):
    """A hash of `size` bytes."""
    return hashlib.blake2b(data, digest_size=size).digest()


def basis(function, group):
    """A digest of a function's arguments and PTX: a record is valid only for the basis that it was made
    with."""
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in inputs.arguments(function))
    return digest(data + modules.reached(group, function.entry).encode(), 4)


@dataclass
class Entry:
    basis: bytes  # basis() when the record was made
    digest_of_all: bytes  # digest() of the results of all lanes
    checksums: np.ndarray  # checksums(): one for each part


def settled(function, results):
    """The results, with every NaN replaced by QUIET_NAN if the function's NaNs are not defined."""
    if function.name not in ANY_NAN:
        return results
    return np.where(np.isnan(results.view(np.float64)), QUIET_NAN, results)


def checksums(results):
    """A checksum of two bytes for each of PARTS equal parts of the results."""
    parts = results.reshape(PARTS, -1)
    return np.array([zlib.crc32(np.ascontiguousarray(part).tobytes()) & 0xFFFF for part in parts], np.uint16)


def entry(function, group, results):
    """The Entry of a function with these results."""
    results = settled(function, results)
    return Entry(basis(function, group), digest(results.tobytes(), 8), checksums(results))


def path(group, folder=None):
    """The file of a group's record, in expected/ or in another folder."""
    return (folder or table.FOLDER / "expected") / f"{group.replace(' ', '_')}.npz"


def packed(entries, device):
    """The arrays of a group's file, {name: array}.

    entries: {function.entry: Entry}; device: the name of the GPU that was recorded.
    """
    names = sorted(entries)
    return {
        "names": np.array("\n".join(names)),
        "basis": np.frombuffer(b"".join(entries[name].basis for name in names), np.uint8),
        "whole": np.frombuffer(b"".join(entries[name].digest_of_all for name in names), np.uint8),
        "marks": np.array([entries[name].checksums for name in names], np.uint16).reshape(-1, PARTS),
        "device": np.array(device),
    }


def unpacked(file):
    """{function.entry: Entry} from the arrays that packed() made."""
    names = str(file["names"]).split("\n")
    bases, whole = file["basis"].reshape(-1, 4), file["whole"].reshape(-1, 8)
    return {
        name: Entry(bases[i].tobytes(), whole[i].tobytes(), file["marks"][i]) for i, name in enumerate(names)
    }


def save(group, entries, device, folder=None):
    """Writes a group's file; arguments as of packed() and path()."""
    path(group, folder).parent.mkdir(exist_ok=True)
    np.savez_compressed(path(group, folder), **packed(entries, device))


def load(group):
    """{function.entry: Entry} of a group's file, empty if there is none."""
    if not path(group).exists():
        return {}
    with np.load(path(group)) as file:
        return unpacked({key: file[key] for key in file.files})
