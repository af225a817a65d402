"""Array and data type helpers."""
