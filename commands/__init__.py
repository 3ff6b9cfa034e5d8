"""Where the packages meet: what the commands of `tasks.py` do, in steps that several of them share.

The packages beneath never see each other across the two branches; here a lock becomes an image, the image runs, and the
records become a bundle.
"""
