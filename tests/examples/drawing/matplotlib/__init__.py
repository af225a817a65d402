"""Stands for matplotlib where that is not installed, so that examples draw in tests as well."""
