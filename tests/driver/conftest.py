"""The folders are those of ext/, one subject each. They are put on sys.path, so that a test imports a helper
module of its folder or of another one by its bare name."""

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).parent.iterdir() if folder.is_dir()]
