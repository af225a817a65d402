"""Mutants of whole files: one token deleted, doubled, swapped with the next or replaced by another."""

import re

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[%$\w]+|\.\w+(?:::\w+)*|\S", re.S)
HEAD = 7  # tokens of .version and .target


def of_file(text, rng, count):
    """Yields `count` mutants of a file."""
    spans = [found.span() for found in TOKEN.finditer(text) if not found[0].startswith(("//", "/*"))]
    for _ in range(count):
        at = rng.randrange(HEAD, len(spans) - 1)
        (start, end), (following, last) = spans[at], spans[at + 1]
        token, other = text[start:end], text[slice(*rng.choice(spans))]
        kind = rng.choice(["delete", "double", "swap", "other"])
        if kind == "delete":
            yield text[:start] + text[end:]
        elif kind == "double" and not token.startswith("."):  # ptxas ignores a modifier that is repeated
            yield text[:end] + " " + token + text[end:]
        elif kind == "swap":
            yield text[:start] + text[following:last] + text[end:following] + token + text[last:]
        else:
            yield text[:start] + other + text[end:]
