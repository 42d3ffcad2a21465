"""The inside of the sandbox: standard library only, started as a package of its own, so that a start costs little."""
