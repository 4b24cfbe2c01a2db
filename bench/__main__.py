"""`scripts/bench NAME`: the benchmarks of this folder, run as `ricordo bench NAME` runs them."""

import sys

from ricordo.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
