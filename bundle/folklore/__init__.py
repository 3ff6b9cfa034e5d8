"""Folklore: advice about ROCm that goes round and does not hold, found in the files that people publish.

Each reader turns one kind of text into items (a variable set, a command run, a name used, a claim made), each on its
line; the rules are data and are asked about items alone, so that every kind of file is judged by the same rules.
"""
