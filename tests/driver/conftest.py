"""The folders are those of ext/: a subject each. Helpers that several files use are modules in this
folder."""

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).parent.iterdir() if folder.is_dir()]
