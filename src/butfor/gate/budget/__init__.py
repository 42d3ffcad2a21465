"""The error budget: how a family's α is divided, spent and begun anew."""
