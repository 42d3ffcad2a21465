"""Alembic's scripts; `schema` runs them."""
