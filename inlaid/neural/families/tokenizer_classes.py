"""Tokenizer classes: what classes of `transformers` put around the words of a tokenizer.json.

Version 5 takes from the file the words, the SentencePiece table of characters and, for some classes, the
tokens around a text; the rest of the file is built again, by the class and its settings.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from inlaid.untrusted import parse_json

JSON = Mapping[str, Any]
SPACE = "▁"
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""What byte pairs of Qwen2 are never merged across: contractions, words, digits, punctuation, spaces."""
WORDS = "WordPiece"
PIECES = "Unigram"
BYTES = "BPE of bytes"
MERGED_PIECES = "BPE of characters"
"""Kinds of vocabulary."""
SHOWN = 120
"""Most characters of a part that a note shows."""


class Parts(NamedTuple):
    """What a class builds again."""

    normalizer: Any
    pre_tokenizer: Any
    around: tuple[str, str] | None = None
    """The tokens before and after every text; None: as tokenizer.json says."""


class TokenizerClass(NamedTuple):
    kind: str
    """The kind of vocabulary it is made for."""
    parts: Callable[[Tokenizer, JSON], Parts]
    special: JSON
    """Its special tokens by name, where the settings name no others."""


def token_of(settings: JSON, name: str, default: str = "") -> str:
    """A token of the settings, which may be written with its properties."""
    entry = settings.get(name)
    found = entry.get("content") if isinstance(entry, dict) else entry
    return found if isinstance(found, str) else default


def _bert(settings: JSON, around: tuple[str, str]) -> Parts:
    accents = settings.get("strip_accents")
    normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
        strip_accents=None if accents is None else bool(accents),
        lowercase=bool(settings.get("do_lower_case", True)),
    )
    return Parts(normalizer, pre_tokenizers.BertPreTokenizer(), _named(settings, "cls", "sep", around))


def _byte_level(settings: JSON, around: tuple[str, str] | None) -> Parts:
    prefix = bool(settings.get("add_prefix_space", False))
    return Parts(None, pre_tokenizers.ByteLevel(add_prefix_space=prefix), around)


def _pieces(tokenizer: Tokenizer, settings: JSON, around: tuple[str, str], prefix: bool = True) -> Parts:
    place = "always" if prefix else "never"
    spaces = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=place)
    words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])
    return Parts(_characters(tokenizer.normalizer), words, around)


def _xlm_roberta(tokenizer: Tokenizer, settings: JSON) -> Parts:
    around = _named(settings, "bos", "eos", ("<s>", "</s>"))
    return _pieces(tokenizer, settings, around, bool(settings.get("add_prefix_space", True)))


def _roberta(tokenizer: Tokenizer, settings: JSON) -> Parts:
    return _byte_level(settings, _named(settings, "cls", "sep", ("<s>", "</s>")))


def _t5(tokenizer: Tokenizer, settings: JSON) -> Parts:
    return _pieces(tokenizer, settings, ("", "</s>"))


def _llama(tokenizer: Tokenizer, settings: JSON) -> Parts:
    place = "always" if settings.get("legacy") else "first"
    if settings.get("add_prefix_space") is False:
        place = "never"
    return Parts(None, pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=place, split=False))


def _gemma(tokenizer: Tokenizer, settings: JSON) -> Parts:
    return Parts(normalizers.Replace(" ", SPACE), pre_tokenizers.Split(" ", "merged_with_previous"))


def _qwen2(tokenizer: Tokenizer, settings: JSON) -> Parts:
    return qwen2_parts(prefix=bool(settings.get("add_prefix_space")))


def qwen2_parts(*, prefix: bool = False) -> Parts:
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    words = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated"), spelled])
    return Parts(normalizers.NFC(), words)


def _named(settings: JSON, first: str, last: str, default: tuple[str, str]) -> tuple[str, str]:
    start = token_of(settings, f"{first}_token", default[0])
    return start, token_of(settings, f"{last}_token", default[1])


def _characters(normalizer: Any) -> Any:
    """The table of characters of a SentencePiece model, if a normalizer has one."""
    if normalizer is None or isinstance(normalizer, normalizers.Precompiled):
        return normalizer
    for each in parse_json(_state(normalizer)).get("normalizers", []):
        if each.get("type") == "Precompiled":
            return normalizers.Precompiled(base64.b64decode(each["precompiled_charsmap"]))
    return None


BERT_TOKENS = {name: f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
AROUND = {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}
TOKENS = {**AROUND, "sep": "</s>", "cls": "<s>", "pad": "<pad>", "mask": "<mask>"}
END = {"eos": "<|endoftext|>"}
BERT = TokenizerClass(WORDS, lambda _, settings: _bert(settings, ("[CLS]", "[SEP]")), BERT_TOKENS)
XLM_ROBERTA = TokenizerClass(PIECES, _xlm_roberta, TOKENS)
CLASSES: Mapping[str, TokenizerClass] = {
    "BertTokenizer": BERT,
    "DistilBertTokenizer": BERT,
    "ElectraTokenizer": BERT,
    "MPNetTokenizer": TokenizerClass(
        WORDS, lambda _, settings: _bert(settings, ("<s>", "</s>")), {**TOKENS, "unk": "[UNK]"}
    ),
    "RobertaTokenizer": TokenizerClass(BYTES, _roberta, TOKENS),
    "GPT2Tokenizer": TokenizerClass(BYTES, lambda _, settings: _byte_level(settings, None), END),
    "XLMRobertaTokenizer": XLM_ROBERTA,
    "CamembertTokenizer": XLM_ROBERTA,
    "T5Tokenizer": TokenizerClass(PIECES, _t5, {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}),
    "LlamaTokenizer": TokenizerClass(MERGED_PIECES, _llama, AROUND),
    "GemmaTokenizer": TokenizerClass(MERGED_PIECES, _gemma, {**TOKENS, "bos": "<bos>", "eos": "<eos>"}),
    "Qwen2Tokenizer": TokenizerClass(BYTES, _qwen2, END),
}
"""By name, without "Fast"."""


def kind_of(tokenizer: Tokenizer) -> str:
    model = tokenizer.model
    if isinstance(model, models.BPE):
        return MERGED_PIECES if model.byte_fallback else BYTES
    return type(model).__name__


def rebuild(tokenizer: Tokenizer, name: str, settings: JSON) -> Iterator[str]:
    """Change a tokenizer to what a class makes of it, and yield every part that is another now."""
    parts = CLASSES[name].parts(tokenizer, settings)
    for part in ("normalizer", "pre_tokenizer"):
        new = getattr(parts, part)
        if _state(getattr(tokenizer, part)) != _state(new):
            setattr(tokenizer, part, new)
            shown = str(new)
            yield f"{part} {shown if len(shown) <= SHOWN else type(new).__name__}"
    unknown = token_of(settings, "unk_token")
    model = tokenizer.model
    is_word = bool(unknown) and tokenizer.token_to_id(unknown) is not None
    if isinstance(model, models.WordPiece) and is_word and model.unk_token != unknown:
        model.unk_token = unknown
        tokenizer.model = model
        yield f"unk_token {unknown}"
    if parts.around is None:
        return
    tokens = [token for token in parts.around if token]
    ids = [tokenizer.token_to_id(token) for token in tokens]
    if None not in ids and tokenizer.encode("").ids != ids:
        before, after = parts.around
        pairs = list(zip(tokens, ids, strict=True))
        tokenizer.post_processor = processors.TemplateProcessing(
            f"{before} $A {after}".strip(), special_tokens=pairs
        )
        yield f"around a text {' ... '.join(tokens)}"


def _state(part: Any) -> str:
    """A part as it is written in tokenizer.json."""
    return "null" if part is None else part.__getstate__().decode("utf-8")
