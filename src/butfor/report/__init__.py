"""Terminal and HTML rendering of results."""
