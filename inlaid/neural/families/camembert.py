"""CamemBERT: RoBERTa for French, with SentencePiece (Martin et al. 2020)."""

from __future__ import annotations

from typing import ClassVar

from inlaid.neural.families.roberta import Roberta


class Camembert(Roberta):
    model_type = "camembert"
    tokenizer_class = "CamembertTokenizer"
    keys: ClassVar = {**Roberta.keys, "vocab_size": ("vocab_size", 30522)}
    classes: ClassVar = {"masked": "CamembertForMaskedLM", "none": "CamembertModel"}


CAMEMBERT = Camembert()
