"""The smallest change that really fixes the failure."""
