"""Run one benchmark; if a peer or the data is missing, say so in one line and skip it.

python benchmarks/run.py benchmarks/encode_speed.py [its arguments]
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from inlaid.errors import MissingExtra


def main() -> None:
    question = Path(sys.argv[1])
    sys.argv = sys.argv[1:]
    try:
        runpy.run_path(str(question), run_name="__main__")
    except ModuleNotFoundError as error:
        if (error.name or "inlaid").split(".")[0] == "inlaid":
            raise  # a module of our own is never missing
        print(f"{question.name} is skipped: it compares with {error.name}, which is not installed.")
        print(f"Run `pip install {error.name}`.")
    except MissingExtra as error:
        print(f"{question.name} is skipped: {error}")
    except KeyError as error:
        if error.args != ("INLAID_DATA",):
            raise
        print(f"{question.name} is skipped: INLAID_DATA is not set. Set it to the folder of the texts.")


if __name__ == "__main__":
    main()
