"""Whether one-sided bounds cover, in planted worlds and their mirror images."""
