"""The ledger: chained by hashes, appended to and never rewritten; what is read, checked and cut out of it."""
