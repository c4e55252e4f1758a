"""Write docs/tour.md and docs/zh/tour.md from the content of the tour and the outputs that were recorded.

python docs/tour.py              render the pages; outputs are those in docs/tour.json
python docs/tour.py --measure    train the models (minutes), run the code, and record its outputs first
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from inlaid.messages import LANGUAGES, Language
from inlaid.tour import content, rendering
from inlaid.tour.models import models
from inlaid.tour.showing import Runner

DOCS = Path(__file__).parent
RECORDED = DOCS / "tour.json"
PAGES: dict[Language, Path] = {"en": DOCS / "tour.md", "zh": DOCS / "zh" / "tour.md"}
HEAD: dict[Language, str] = {
    "en": """# {title}

[中文](zh/tour.md)

The same page is a command, an HTML page and a notebook:

```sh
inlaid tour --lang en --chapter onehot
inlaid tour --lang en -o tour.ipynb
```

`inlaid tour` shows all chapters; `inlaid tour -o tour.html` writes one page. Without torch the chapters of
networks say what to install. The outputs below were recorded by `python docs/tour.py --measure`
({date}, {machine}); one run with seed 1, so small differences mean nothing. On another processor
digits may differ.
""",
    "zh": """# {title}

[English](../tour.md)

这一页同时是命令、网页和 notebook：

```sh
inlaid tour --lang zh --chapter onehot
inlaid tour --lang zh -o tour.ipynb
```

`inlaid tour` 显示全部章节，`inlaid tour -o tour.html` 写成一个网页。
没有安装 torch 时，神经网络各章会说明要装什么。
下面的输出由 `python docs/tour.py --measure` 记录（{date}，{machine}）：种子 1，只跑一次，
细小的差别没有意义。换一种处理器，末尾几位可能不同。
""",
}


def measure() -> dict[str, Any]:
    """Run all code blocks of both languages."""
    outputs: dict[str, Any] = {}
    for language in LANGUAGES:
        runner = Runner(models(language, size="full"))
        told = content.tour(language)
        played = [rendering.play_chapter(chapter, runner) for chapter in told.chapters]
        outputs[language] = {
            each.chapter.name: [None if block.output is None else block.output.rows for block in each.blocks]
            for each in played
        }
    made = {"date": str(datetime.date.today()), "machine": f"{platform.machine()}, {os.cpu_count()} CPUs"}
    return made | {"outputs": outputs}


def page(language: Language, recorded: dict[str, Any]) -> str:
    """One page, from the content and what was recorded."""
    told = content.tour(language)
    outputs = recorded["outputs"][language]
    chapters = [(chapter, _rows(outputs[chapter.name])) for chapter in told.chapters]
    head = HEAD[language].format(title=told.title, date=recorded["date"], machine=recorded["machine"])
    return f"{head}\n{rendering.markdown(chapters, language)}"


def _rows(outputs: list[Any]) -> list[Any]:
    """Rows as they were before JSON turned tuples into lists."""
    return [
        None if rows is None else [row if isinstance(row, str) else tuple(row) for row in rows]
        for rows in outputs
    ]


if __name__ == "__main__":
    if "--measure" in sys.argv:
        RECORDED.write_text(json.dumps(measure(), ensure_ascii=False, indent=1) + "\n", "utf-8")
    for language, path in PAGES.items():
        path.write_text(page(language, json.loads(RECORDED.read_text("utf-8"))), "utf-8")
