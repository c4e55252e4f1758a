"""Run one benchmark; where a peer or the data is missing, say so in one line and leave it out.

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
            raise  # ours is never missing
        print(
            f"{question.name} is left out: {error.name} is not installed, which it compares with. Run `pip install {error.name}`."
        )
    except MissingExtra as error:
        print(f"{question.name} is left out: {error}")
    except KeyError as error:
        if error.args != ("INLAID_DATA",):
            raise
        print(
            f"{question.name} is left out: INLAID_DATA is not set. Let it name the folder that holds the texts."
        )


if __name__ == "__main__":
    main()
