"""NVIDIA's libraries of mathematics: where they are, their handles, and which of our operations they do."""
