"""Dicts with a limit, to which several threads may add at once."""

from __future__ import annotations

from typing import Any


def make_room(known: dict[Any, Any], limit: int) -> None:
    """Drop the oldest entries, until one more is within the limit."""
    while len(known) >= limit:
        known.pop(next(iter(keys_now(known)), None), None)


def keys_now(known: dict[Any, Any]) -> list[Any]:
    """The keys, copied in one step: other threads may add some, during which a dict cannot be iterated over.
    Of a class derived from dict only keys() is copied so.
    """
    return list(known.keys())
