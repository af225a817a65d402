"""The tests of arrays share what draws their operands (drawing.py)."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
