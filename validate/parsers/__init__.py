"""Texts of tools and of the kernel, read into plain values. Pure: no effects, and odd text never raises."""
