"""Which step caused the failure, and how sure is that."""
