"""`python -m butfor.cli`."""

from butfor.cli.main import main

main()
