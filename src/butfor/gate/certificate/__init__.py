"""The certificate file, its schema, and what an auditor gets with it."""
