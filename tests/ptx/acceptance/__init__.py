"""Compares what ptxas and the CPU device accept: statements generated from the device's own tables, and
mutants of them, are judged by both.
"""
