"""Writes PNG files without a library: into the folder that the command line names, or a temporary one."""

import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

FOLDER = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())
# The color scale of colors(): equidistant stops from dark to light.
STOPS = np.array([[0, 0, 12], [60, 10, 110], [170, 40, 90], [240, 110, 30], [250, 200, 60], [255, 255, 230]])


def colors(values):
    """Numbers from 0 to 1 as colors, dark to light."""
    place = np.clip(values, 0, 1) * (len(STOPS) - 1)
    channels = [np.interp(place, np.arange(len(STOPS)), STOPS[:, k]) for k in range(3)]
    return np.stack(channels, -1).astype(np.uint8)


def chunk(kind, data):
    """A chunk of a PNG file: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def save(name, pixels):
    """Writes (height, width) of uint8, grey, or (height, width, 3), red, green and blue."""
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels, np.uint8))
    bits, color_type = 8, 2 if pixels.ndim == 3 else 0
    head = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 0)
    parts = (
        chunk(b"IHDR", head),
        chunk(b"IDAT", zlib.compress(rows, 9)),
        chunk(b"IEND", b""),
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / name
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    print(path)
