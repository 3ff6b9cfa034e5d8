"""What is asked for, what it resolved to, and the verified bytes it names."""
