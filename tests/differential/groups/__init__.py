"""The groups of calls by name: lists of functions that draw one call each and return its text."""

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
