"""Helpers that several files use are modules beside them."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
