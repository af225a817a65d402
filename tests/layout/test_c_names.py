"""No name of a C function is declared both in ext/ or core/ and in device/."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DECLARED = re.compile(r"^[a-zA-Z_][\w \*]*?[ \*](\w+)\(", re.M)


def declared(*folders):
    """The names of the functions that the headers of these folders declare."""
    headers = (path for folder in folders for path in (ROOT / folder).rglob("*.h"))
    return {name for path in headers for name in DECLARED.findall(path.read_text())}


def test_no_function_name_is_declared_on_both_sides():
    ours, device = declared("ext", "core"), declared("device")
    assert {"context_current", "pool_add"} <= ours and "context_on_top" in device
    assert ours & device == set()
