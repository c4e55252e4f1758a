"""Build the documentation as a site that needs no network: python docs/site/build.py [folder]

English is in the folder, Chinese in `zh/` below it. The pages are those of docs/; the menu is made of the
groups and links of index.md, the reference from docstrings, and search.js reads an index written here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import api
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

SITE = Path(__file__).parent
ROOT = SITE.parent.parent
DOCS = ROOT / "docs"
Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]*)(#[^)]*)?\)")
CODE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"(\]\()(?:\.\./)?pictures/")
BESIDE = ("pictures", "deploy")
"""Folders of docs/ whose files pages show or offer."""
RENAMED = {"search": "nearest-words"}
"""Pages whose name Sphinx keeps for a page of its own."""
TITLES: dict[Language, str] = {"en": "Inlaid", "zh": "Inlaid 文档"}
FONTS = (
    "system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)


def pages(language: Language) -> dict[Path, str]:
    """The files of the repository that are pages of a language, and their names on the site."""
    folder = DOCS if language == "en" else DOCS / "zh"
    suffix = "" if language == "en" else ".zh"
    found = {path: RENAMED.get(path.stem, path.stem) for path in sorted(folder.glob("*.md"))}
    found[ROOT / f"CONTRIBUTING{suffix}.md"] = "contributing"
    found[ROOT / f"CHANGELOG{suffix}.md"] = "changelog"
    if language == "en":
        found |= {path: f"decisions/{path.stem}" for path in sorted((DOCS / "decisions").glob("*.md"))}
    return found


def addresses() -> dict[Path, tuple[Language, str]]:
    """The language and the name of every page; the READMEs lead to the index."""
    found = {path: (language, name) for language in LANGUAGES for path, name in pages(language).items()}
    return found | {ROOT / "README.md": ("en", "index"), ROOT / "README.zh.md": ("zh", "index")}


def staged(path: Path, language: Language, name: str) -> str:
    """The text of a page with its links as the site has them."""
    known = addresses()

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if not target:
            return match[0]
        there = (path.parent / target).resolve()
        if there.is_file() and there.parent in [DOCS / name for name in BESIDE]:
            return f"[{text}](/{there.relative_to(DOCS)})"
        if there not in known:
            raise SystemExit(f"{path.relative_to(ROOT)}: {target} is not a page of the site")
        to_language, to_name = known[there]
        if to_language == language:
            return f"[{text}]({os.path.relpath(to_name, Path(name).parent)}.md{anchor})"
        to = _output(to_language, to_name)
        return f'<a href="{os.path.relpath(to, Path(_output(language, name)).parent)}{anchor}">{text}</a>'

    parts = CODE.split(path.read_text("utf-8"))
    parts[::2] = [PICTURE.sub(r"\1/pictures/", LINK.sub(link, prose)) for prose in parts[::2]]
    return "".join(parts)


def _output(language: Language, name: str) -> str:
    """Where a page lies on the site."""
    return f"{name}.html" if language == "en" else f"zh/{name}.html"


def menu(index: str) -> str:
    """Groups of pages for the sidebar: the headings of the index, and the pages linked below each."""
    parts = list[str]()
    for group in index.split("\n## ")[1:]:
        heading = group.partition("\n")[0]
        names = [match[2].removesuffix(".md") for match in LINK.finditer(group)]
        if names:
            parts.append(f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(names) + "\n```\n")
    return "\n".join(parts)


def stage(folder: Path, language: Language) -> None:
    """The sources of one language, in a folder of their own."""
    for path, name in pages(language).items():
        text = staged(path, language, name)
        if name == "index":
            text = f"{text}- [Python API](api.md)\n"
            text = f"{text}\n{menu(text)}"
        target = folder / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    (folder / "api.md").write_text(api.page(language), "utf-8")
    for name in BESIDE:
        shutil.copytree(DOCS / name, folder / name)


def settings(language: Language) -> dict[str, Any]:
    """What Sphinx would read from conf.py."""
    variables = {"font-stack": FONTS}
    return {
        "project": TITLES[language],
        "html_title": TITLES[language],
        "language": "en" if language == "en" else "zh_CN",
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"],
        "myst_heading_anchors": 4,
        "html_theme": "furo",
        "html_theme_options": {"light_css_variables": variables, "dark_css_variables": variables},
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "html_additional_pages": {"search": "search.html"},
        "html_static_path": [str(SITE / "search.js")],
        "templates_path": [str(SITE / "templates")],
        "default_role": "literal",
        "autodoc_member_order": "bysource",
        "autodoc_typehints": "signature",
        "python_use_unqualified_type_names": True,
        "maximum_signature_line_length": 90,
        "add_module_names": False,
        "toc_object_entries": False,
    }


def searchable(app: Sphinx) -> Iterator[list[str]]:
    """For each section and each name of the reference: its page, address, title and text."""
    for name in sorted(app.env.found_docs):
        doctree = app.env.get_doctree(name)
        page = app.env.titles[name].astext()
        for section in doctree.findall(nodes.section):
            title = section[0].astext()
            yield [page, f"{name}.html#{section['ids'][0]}", title, _own_text(section)]
        for entry in doctree.findall(addnodes.desc):
            signature = entry[0]
            assert isinstance(signature, addnodes.desc_signature)
            if signature["ids"]:
                text = entry.astext()
                yield [page, f"{name}.html#{signature['ids'][0]}", signature["fullname"], text]


def _own_text(section: nodes.section) -> str:
    """The text of a section without its title, its subsections, and names that have entries of their own."""
    parts = (nodes.section, addnodes.desc, addnodes.index)
    return "\n".join(child.astext() for child in section[1:] if not isinstance(child, parts))


def build(folder: Path, language: Language) -> int:
    """Build one language; nonzero when Sphinx had anything to complain about."""
    work = folder.parent / f"{folder.name}-work" / language
    shutil.rmtree(work, ignore_errors=True)
    stage(work / "sources", language)
    out = folder if language == "en" else folder / language
    app = Sphinx(
        work / "sources",
        None,
        out,
        work / "doctrees",
        "html",
        confoverrides=settings(language),
        status=None,
        warningiserror=True,
        freshenv=True,
    )
    app.builder.search = False  # its index cannot be asked in Chinese; ours can
    app.build()
    sections = json.dumps(list(searchable(app)), ensure_ascii=False, separators=(",", ":"))
    (out / "search-index.js").write_text(f"const SECTIONS = {sections};\n", "utf-8")
    return app.statuscode


def main(folder: Path) -> int:
    """Build both languages, at the same time: Sphinx keeps what it knows in its process."""
    shutil.rmtree(folder, ignore_errors=True)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        ended = list(pool.map(build, [folder] * len(LANGUAGES), LANGUAGES))
    print(folder / "index.html")
    return max(ended)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()))
