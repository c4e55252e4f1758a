"""What the pictures and pages of this folder say, in Chinese: the English sentence is the key."""

from __future__ import annotations

from inlaid.messages import Message, render
from inlaid.study.figures import Language

CHINESE = {
    # probe
    "What the layers know: {name}": "各层知道什么：{name}",
    "layer": "层",
    "accuracy": "准确率",
    "linear probe": "线性探针",
    "probe with a hidden layer": "带一个隐藏层的探针",
    "control task": "控制任务",
    "most frequent label": "最常见的标签",
    "most frequent label of each word": "每个词最常见的标签",
    "{task}, {classes} labels": "{task}，{classes} 个标签",
    "Bars are 95 % intervals by the bootstrap over the {split}s of the test; dotted lines are the control "
    "task, on which the same probe learns a random label for each word.": "误差线是对测试{split}做 bootstrap "
    "得到的 95% 区间；点线是控制任务：同样的探针学习每个词的随机标签。",
    "sentence": "句子",
    "word": "词",
    "other sentences": "其他句子",
    "other words": "其他词",
    "pos": "词性",
    "number": "单复数",
    "tense": "时态",
    "frequency": "词频",
    "sense": "词义",
    "field": "语义场",
    "sentiment": "情感",
    "{task}: {classes} labels; {train:,} examples to train on, {test:,} to test on, from {split}. Source: "
    "{source}; seed {seed}.": "{task}：{classes} 个标签；训练样本 {train:,} 个，测试样本 {test:,} 个，来自{split}。"
    "数据：{source}；种子 {seed}。",
    "Chance is {majority:.3f}, the share of the most frequent label. The most frequent label of each word "
    "gives {by_word:.3f}: what a word tells without its sentence.": "随机水平为 {majority:.3f}，即最常见标签的比例。"
    "每个词取其最常见的标签可得 {by_word:.3f}：这是词本身不看句子就能说明的。",
    "A probe shows that something can be read from the states, not that the model uses it. A low score of a "
    "linear probe does not show that it is absent. A difference between two layers that lies within the "
    "intervals is none.": "探针说明某种信息可以从隐藏状态中读出，并不说明模型用到了它。线性探针得分低，也不说明信息不存在。"
    "两层之间的差别若在区间之内，就不算差别。",
    "probe": "探针",
    "linear": "线性",
    "mlp": "MLP",
    "control": "控制任务",
    "selectivity": "选择性",
}


def said(language: Language, sentence: str, /, **values: object) -> str:
    """A sentence in one of the two languages, with its values; values that are sentences are said, too."""
    message = Message(sentence, **values)
    return render(message.sentence, message.values, CHINESE if language == "zh" else None)
