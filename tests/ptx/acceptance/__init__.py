"""What ptxas accepts and what the CPU device accepts: statements made from the device's own tables, and
mutants of them, judged by both.
"""
