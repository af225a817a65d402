"""Arrays with parts put in, taken out, repeated, put around them: insert, delete, append, block, repeat, pad.

Made of the folders below: each result is a new array.
"""
