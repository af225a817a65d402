"""Makes the helpers of the tests of arrays (tests/gpuarray) importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "gpuarray"))
