"""`python -m ricordo` is the command line."""

from ricordo.cli import main

raise SystemExit(main())
