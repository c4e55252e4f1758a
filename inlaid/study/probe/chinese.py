"""What the pictures and pages of this folder say, in Chinese: the English sentence is the key."""

# ruff: noqa: E501, Chinese characters count twice

from __future__ import annotations

from inlaid.messages import render
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
    # one word through the layers, and the lens
    "{word} through the layers": "{word}在各层中的变化",
    "Cosines by layer; layer 0 is the input of the first block.": "各层的余弦相似度；第 0 层是第一个块的输入。",
    "with its input (dotted: with the layer before)": "与输入的余弦（点线：与上一层）",
    "in two sentences": "同一个词在两个句子中",
    "static vector": "静态词向量",
    "{number}: layer 0": "{number}：与第 0 层",
    "{number}: before": "{number}：与上一层",
    "cosine": "余弦相似度",
    "Words near the hidden states, layer by layer": "各层隐藏状态最接近的词（logit lens）",
    "token": "词元",
    "Hidden states of inner layers were never trained to be read by the output layer, so early layers may "
    "show words at random. What the lens does not show may still be there.": "中间层的隐藏状态并没有被训练成可由输出层读取，"
    "所以靠前的层可能显示无关的词。logit lens 没有显示的信息，也可能存在。",
    # senses
    "Senses of {word}": "{word}的词义",
    "{word}: {occurrences:,} of {found:,} sentences with it, seed {seed}": "{word}：含该词的 {found:,} 个句子中的 "
    "{occurrences:,} 个，种子 {seed}",
    "It falls apart further than other words: in layer {layer} the separation is {value:.2f}, that of "
    "{references} other words {usual:.2f} (95 %: up to {high:.2f}); p = {p:.3f}.": "它比其他词分得更开：第 {layer} "
    "层的分离度为 {value:.2f}，{references} 个其他词的中位数为 {usual:.2f}（95% 不超过 {high:.2f}）；p = {p:.3f}。",
    "It does not fall apart further than other words: in layer {layer} the separation is {value:.2f}, that "
    "of {references} other words {usual:.2f} (95 %: up to {high:.2f}); p = {p:.3f}. That alone shows no "
    "second sense.": "它并不比其他词分得更开：第 {layer} 层的分离度为 {value:.2f}，{references} 个其他词的中位数为 "
    "{usual:.2f}（95% 不超过 {high:.2f}）；p = {p:.3f}。仅凭这一点不能说明它有第二个词义。",
    "Left: each occurrence by the first two principal components of the words it is near. Right: how far the "
    "word falls apart into two, beside {count} other words of the text (line: median, band: up to their 95 % "
    "quantile).": "左：每次出现按其近邻词的前两个主成分画出。右：该词分成两簇的程度，与文本中另外 {count} 个词相比"
    "（线为中位数，灰带到 95% 分位数）。",
    "Clusters are contexts that the model treats alike; whether they are senses is for a reader to say. "
    "Words with one sense fall apart, too, by grammar and topic: that is why other words are beside "
    "it.": "一个簇是模型同等对待的上下文；是不是词义，要由读者判断。只有一个词义的词也会因句式和话题而分开，所以要和其他词相比。",
    "Cluster {number}: {count} occurrences": "第 {number} 簇：出现 {count} 次",
    "Nearest words: {words}": "最近的词：{words}",
    "Frequent around it: {words}": "上下文中常见：{words}",
    "separation": "分离度",
    "95 % of them": "其中 95%",
    "cosine, this word": "该词的余弦",
    "cosine, other words": "其他词的余弦",
    "occurrences, layer {layer}": "各次出现，第 {layer} 层",
    # referents
    "Whom pronouns mean": "代词指谁",
    "A head that attends to a word need not use it. A head that is best on all sentences was chosen with "
    "hindsight; the best head was chosen without the pattern that it is tested on.": "注意力头关注一个词，不等于用到了它。"
    "在全部句子上最好的头是事后选出的；“最好的头”是在不含测试句式的句子上选出的。",
    "{sentences:,} sentences, half of them with the other pronoun; held out in turn: {patterns}. Chance is "
    "0.5.": "{sentences:,} 个句子，其中一半换成了另一个代词；轮流留出的句式：{patterns}。随机水平为 0.5。",
    "as in the world": "原句",
    "other pronoun": "换代词",
    "attention": "注意力",
    "attention to the referent": "注意力指向所指",
    "head": "头",
    "best head": "最好的头",
    "chance": "随机水平",
}


def said(language: Language, sentence: str, /, **values: object) -> str:
    """A sentence in one of the two languages, with its values; values that are sentences are said, too."""
    return render(sentence, values, CHINESE if language == "zh" else None)
