"""Real tables end to end: what is answered, what is refused, and what is known about the truth."""
