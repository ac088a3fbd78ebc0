"""Command line of the ledger."""

import sys


def main(argv):
    """Run one command line (without the program's name) and return its exit code."""
    raise NotImplementedError


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
