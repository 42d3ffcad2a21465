"""The support agent of `butfor demo`."""
