"""The groups of calls by name: lists of functions that draw one call each and return its text.

Their parameter `draw` is a Draw (draw.py): draw.array("biuf") is the name of a new array of one of these
kinds, draw.like(a, ...) of one that fits it, draw.keywords(chance, name=choices) the text of some keyword
arguments. They set draw.ulp, the rounding error that results may have.
"""

from groups import arithmetic, choosing, creation, folding, indexing, numeric, ordering, shaping

GROUPS = {
    "arithmetic": arithmetic.CALLS,
    "choosing": choosing.CALLS,
    "creation": creation.CALLS,
    "folding": folding.CALLS,
    "indexing": indexing.CALLS,
    "numeric": numeric.CALLS,
    "ordering": ordering.CALLS,
    "shaping": shaping.CALLS,
}
