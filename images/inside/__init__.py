"""What runs inside an image while something is added to it: stdlib alone, on whatever Python 3 the image has."""
