"""Whether the interpreter is a free-threaded CPython, and the environment that keeps its GIL off."""

import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
WITHOUT_GIL = {"PYTHON_GIL": "0"} if FREE_THREADED else {}
