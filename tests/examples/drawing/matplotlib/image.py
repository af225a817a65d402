"""matplotlib.image.imsave, as far as the examples use it: writes PNG files, grey or red, green and blue."""

import struct
import zlib
from pathlib import Path

import numpy as np


def _chunk(kind, data):
    """A chunk of a PNG file: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def imsave(name, pixels, *, cmap=None, vmin=None, vmax=None):
    """Writes numbers (height, width), of which the smallest becomes black, or bytes (height, width, 3)."""
    if pixels.ndim == 2:
        assert cmap in ("gray", "inferno")
        lowest = pixels.min() if vmin is None else vmin
        highest = pixels.max() if vmax is None else vmax
        assert np.isfinite(pixels).all() and lowest < highest
        pixels = np.clip(255 * ((pixels - lowest) / (highest - lowest)), 0, 255).astype(np.uint8)
    assert pixels.dtype == np.uint8
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    parts = _chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b"")
    Path(name).write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
