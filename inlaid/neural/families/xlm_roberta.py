"""XLM-RoBERTa: RoBERTa over a hundred languages, with SentencePiece (Conneau et al. 2020)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from inlaid.encode.subwords.loading import of_model
from inlaid.encode.subwords.sentencepiece import SPACE, parsed
from inlaid.neural.config import Config
from inlaid.neural.families.roberta import END, START, Roberta

PIECES = "sentencepiece.bpe.model"
SPECIAL = (START, "<pad>", END, "<unk>")
"""Ids 0 to 3; the pieces follow from the file's fourth on, then the mask."""
MASK = "<mask>"


class XlmRoberta(Roberta):
    model_type = "xlm-roberta"
    tokenizer_class = "XLMRobertaTokenizer"
    keys: ClassVar = {**Roberta.keys, "vocab_size": ("vocab_size", 30522)}
    classes: ClassVar = {"masked": "XLMRobertaForMaskedLM", "none": "XLMRobertaModel"}

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """Older folders have sentencepiece.bpe.model alone, whose ids are shifted by one."""
        tokenizer = of_model(path, reads_both_ways=False)
        if tokenizer is None and (path / PIECES).is_file():
            return _read_pieces(path / PIECES)
        return tokenizer


def _read_pieces(path: Path) -> Tokenizer:
    model = parsed(path.read_bytes(), path)
    words = [(word, 0.0) for word in SPECIAL]
    words += [(piece.piece, piece.score) for piece in model.pieces[3:]]
    tokenizer = Tokenizer(models.Unigram([*words, (MASK, 0.0)], SPECIAL.index("<unk>"), False))
    if model.normalizer_spec.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    spaces = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])
    tokenizer.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme="always")
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    tokenizer.add_special_tokens([AddedToken(MASK, special=True, normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}",
        pair=f"{START} $A {END} {END} $B {END}",
        special_tokens=[(START, SPECIAL.index(START)), (END, SPECIAL.index(END))],
    )
    return tokenizer


XLM_ROBERTA = XlmRoberta()
