"""Proofs that an effect is identified, hedges that it is not, and the independent checker."""
