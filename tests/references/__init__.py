"""Slow, obvious versions of what the library computes fast; nothing here imports its numerics."""
