"""Arrays with parts put in, taken out or put round them: insert, delete, append, block, pad.

Made of the folders below: each result is a new array.
"""
