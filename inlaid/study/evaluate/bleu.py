"""BLEU as a statistic: n-grams counted for each sentence, summed over a corpus (Papineni et al. 2002).

The counts are sacreBLEU's, so that the score is the one that it gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inlaid.collect import world
from inlaid.errors import need

ORDER = 4
"""N-grams of up to so many words count."""
TOKENIZERS = {"zh": "zh", "en": "13a"}
"""sacreBLEU's tokenizer for each language of the reference."""


def counts_of(found: Sequence[str], expected: Sequence[str], language: world.Language) -> np.ndarray:
    """For each translation its right n-grams, all its n-grams, its length and that of the reference."""
    metrics = need("sacrebleu.metrics", extra="neural")
    metric = metrics.BLEU(tokenize=TOKENIZERS[language], effective_order=True)
    scores = [metric.sentence_score(one, [two]) for one, two in zip(found, expected, strict=True)]
    return np.array([[*each.counts, *each.totals, each.sys_len, each.ref_len] for each in scores], float)


def bleu(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Corpus BLEU of rows that `counts_of` gives, from 0 to 100, smoothed as sacreBLEU does by default."""
    sums = weights @ items
    right = sums[:, :ORDER]
    total = sums[:, ORDER : 2 * ORDER]
    lengths = sums[:, -2:]
    halvings = np.cumsum(right == 0, axis=1)
    smoothed = np.where(right > 0, right, 1 / 2.0**halvings)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(smoothed / total).mean(axis=1)
        brevity = np.minimum(0.0, 1 - lengths[:, 1] / lengths[:, 0])
        score = 100 * np.exp(precisions + brevity)
    return np.where((right[:, 0] > 0) & (total > 0).all(axis=1), score, 0.0)
