"""Does this container do what its lock says? Facts are gathered, then judged; both travel as records.

Standard library and torch only, Python 3.9 dialect: this runs inside the images. torch is imported in `probes`, which
run as children of their own, so that a crash or a hang of the GPU stack is a value and not the end of the report.
"""
