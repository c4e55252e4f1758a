"""Write what follows from the code into the docs: the package's tree, the analyses, text of the world."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

from inlaid import registry
from inlaid.collect import world
from inlaid.messages import catalogue

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "inlaid"
ROOT_FILES = {
    "the way in": "__init__ pipeline storage classification sklearn cli __main__",
    "values": "vectors card classifier analysis_methods notebook suggestions",
    "names and settings": "registry config habits shapes version",
    "what people are told": "messages errors marked report progress",
    "files, memory, threads": "files places locks arrays array_writer open_file values untrusted memory blas",
}
"""What the files beside the folders are for, and the order to read them in."""
NAME_WIDTH = 26
"""Columns for names, indent included."""
WORLD_WORDS = 700
"""English words of the embedded world that its page shows."""
PAGES = {
    "CONTRIBUTING.md": "en",
    "CONTRIBUTING.zh.md": "zh",
    "docs/search.md": "en",
    "docs/zh/search.md": "zh",
    "docs/world.md": "en",
    "docs/zh/world.md": "zh",
}
"""Pages with generated parts, and their languages."""
HEADINGS = {
    "en": "| Python | command | what it answers |",
    "zh": "| Python | 命令 | 回答什么问题 |",
}
CHINESE_SUMMARIES = {
    "neighbors": "与一个词最相近的词",
    "analogy": "与算式结果最相近的词：“国王 - 男人 + 女人”",
    "vector": "一个词或一个算式的向量",
    "similarity": "两个词、几个词或文件中各词对的余弦相似度",
    "odd_one_out": "一组词里不属于这一类的词",
    "cooccurrence": "语料中词与词的共现次数",
    "evaluate": "在有标准答案的任务上的得分，附置信区间",
    "inspect": "检查点里有什么：嵌入矩阵、参数量、内存；无需加载模型",
    "geometry": "向量空间的枢纽性与各向异性",
    "compare": "两个空间之间变了什么，是否只是随机波动",
    "changes": "一个词的近邻在两个空间之间的保留、消失与新增",
    "stability": "多次训练一致给出的近邻",
    "align": "用词典把一个空间对齐到另一个空间；翻译",
    "explain": "两个词为什么相近：上下文、例句、维度、n-gram",
    "fill": "最适合填空的词：这是一个___的苹果",
    "embed": "文本的向量：词向量的平均，或由模型给出",
    "next": "接下来最可能的词元及其概率，可逐层查看：从前有一座",
    "generate": "由模型续写文本",
    "translate": "由模型翻译文本",
    "axis": "词在两组词之间的位置",
    "dimensions": "去掉一些维度后得分如何变化，每一维与什么相关",
    "probe": "模型各层知道什么：探针、控制任务与选择性",
    "senses": "一个词在语料中的词义：各次出现的聚类",
    "drift": "一个词在不同句子中逐层的变化",
    "lens": "各层隐藏状态最接近的词（logit lens）",
    "referents": "代词指谁：注意力头与探针的回答",
    "attend": "每个词关注谁",
    "attend_step": "一个词元的注意力如何一步步算出来",
    "heads": "每个注意力头在做什么，附随机水平",
    "ablate": "去掉一个头或一层后的变化",
    "attribute": "一个预测取决于哪些词",
    "doctor": "空间有什么问题，该怎么办",
    "map": "平面上的词（图片或网页），以及它有多可信",
}
"""What each analysis answers, for the Chinese pages, where that is more than the help says."""


def tree() -> str:
    """The package in lines: root files by purpose, stages with their files, supports with names."""
    lines = ["inlaid/"]
    for purpose, names in ROOT_FILES.items():
        files = [PACKAGE / f"{name}.py" for name in names.split()]
        lines += ["", f"  # {purpose}"]
        lines += [_line(path.name, 2, path) for path in files]
    folders = {folder: _summary(folder / "__init__.py") for folder in _folders(PACKAGE)}
    stages = sorted((folder for folder in folders if _is_stage(folders[folder])), key=folders.__getitem__)
    for folder in stages:
        lines += ["", *_folder_lines(folder)]
        lines += [_line(path.name, 4, path) for path in _modules(folder)]
    for folder in folders:
        if folder not in stages:
            lines += ["", *_folder_lines(folder), *_names(folder)]
    return "\n".join(lines)


def _folders(parent: Path) -> list[Path]:
    return sorted(path.parent for path in parent.glob("*/__init__.py"))


def _is_stage(summary: str) -> bool:
    """The summaries of stages begin with their number."""
    return summary[:1].isdigit()


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.stem != "__init__")


def _folder_lines(folder: Path) -> list[str]:
    """A folder and the folders in it."""
    inner = [_line(f"{each.name}/", 4, each / "__init__.py") for each in _folders(folder)]
    return [_line(f"{folder.name}/", 2, folder / "__init__.py"), *inner]


def _names(folder: Path) -> list[str]:
    """The modules of a support by name, several in a line."""
    names = "  ".join(path.stem for path in _modules(folder))
    return textwrap.wrap(names, 110, initial_indent="    ", subsequent_indent="    ")


def _line(name: str, indent: int, described_by: Path) -> str:
    return f"{' ' * indent}{name:<{NAME_WIDTH - indent}} {_summary(described_by)}".rstrip()


def _summary(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").splitlines()[0].rstrip(".")


def analyses(language: str) -> str:
    """A table with a row for each analysis of the registry."""
    rows = [HEADINGS[language], "| --- | --- | --- |"]
    for entry in registry.entries("analysis"):
        summary = entry.summary
        if language == "zh":
            summary = CHINESE_SUMMARIES.get(entry.name, catalogue("zh")[summary])
        rows.append(f"| `{entry.name}` | `inlaid {entry.name.replace('_', '-')}` | {summary} |")
    return "\n".join(rows)


def world_text(language: str) -> str:
    """Two pages of the embedded world, the page's own language first."""
    rows = ["| English | 中文 |" if language == "en" else "| 中文 | English |", "| --- | --- |"]
    for pair in world.pairs(words=WORLD_WORDS, seed=1):
        shown = (pair.en, pair.zh) if language == "en" else (pair.zh, pair.en)
        rows.append(f"| {shown[0]} | {shown[1]} |")
    return "\n".join(rows)


def written(text: str, language: str) -> str:
    """The text with its generated parts brought up to date."""
    text = _between("tree", f"```\n{tree()}\n```", text)
    text = _between("world", world_text(language), text)
    return _between("analyses", analyses(language), text)


def _between(mark: str, content: str, text: str) -> str:
    """The text with this content between `<!-- mark -->` and `<!-- end of mark -->`, if it has them."""
    return re.sub(
        rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)",
        lambda marks: f"{marks[1]}{content}\n{marks[2]}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for name, language in PAGES.items():
        page = ROOT / name
        page.write_text(written(page.read_text("utf-8"), language), "utf-8")
