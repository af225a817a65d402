"""Remembering what was made for a context, no longer than anybody may want it."""

from __future__ import annotations

import pycuda.driver as drv
from pycuda import tools

_current = drv.Context.get_current


def context_memory(make, limit: int):
    """make(*args), remembered for the current context; at most `limit` results, the oldest go first.
    Forgotten
    by pycuda.tools.clear_context_caches.
    """
    known: dict = {}

    def recall(*args):
        key = _current(), args
        try:
            return known[key]
        except KeyError:
            pass
        result = make(*args)
        while len(known) >= limit:
            known.pop(next(iter(known)), None)
        known[key] = result
        return result

    recall.clear_cache = known.clear
    tools.context_dependent_memoized_functions.append(recall)
    return recall
