"""The groups of calls by name: lists of functions, each of which draws one call and returns its text.

Their parameter `draw` is a Draw (draw.py): draw.array("biuf") is the name of a new array of one of these
kinds, draw.like(a, ...) the name of one that can be broadcast to `a`, draw.keywords(probability,
name=choices) the text of some keyword arguments. They set draw.ulp, the tolerance of results. They do not
draw calls whose result NumPy leaves undefined.
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
