"""From a lock to its image, and running things in it."""
