"""`python -m inlaid` is `inlaid`."""

from __future__ import annotations

import sys

from inlaid.cli import main

if __name__ == "__main__":
    sys.exit(main())
