"""What the documents are: records, streams, errors, JSON Schemas and dated facts.

Everything here but `canon` and `documents` is standard library only and runs on Python 3.9, inside the images.
"""

VERSION = "0.1.0"
