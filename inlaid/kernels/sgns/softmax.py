"""Skip-gram and CBOW with the exact softmax over all words: the form the method is taught in.

Every step visits every word, so it is for small vocabularies, and to hold the sampled loss against.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel

WORD, LOW, HIGH = range(3)
SKIPGRAM, CBOW_MEAN, CBOW_SUM = range(3)


@kernel
def softmax(stream, count, table, contexts, pace, objective, sums, slopes, hidden):
    # stream (4, count) i4; table and contexts (V, D) f4, in place; pace: rate at the first and the last
    # center, 0 to measure only
    # sums (2,) f8: the loss, -log of the probability of what was to be predicted, and the number of
    # predictions are added
    # slopes (V,) f4 and hidden (2, D) f4: room for the scores, and for what predicts and how it should move
    (size, columns) = table.shape
    (hidden, moved) = (hidden[0], hidden[1])
    for center in range(count):
        low = stream[LOW, center]
        high = stream[HIGH, center]
        word = stream[WORD, center]
        around = high - low - 1
        if around == 0:
            continue
        rate = np.float32(pace[0] + (pace[1] - pace[0]) * center / count)
        predictions = around if objective == SKIPGRAM else 1
        _hidden(stream, center, table, objective, hidden)
        total = _scores(hidden, contexts, slopes)
        for q in range(low, high):
            if objective == SKIPGRAM and q != center:
                sums[0] += total - slopes[stream[WORD, q]]
        if objective != SKIPGRAM:
            sums[0] += total - slopes[word]
        sums[1] += predictions
        if rate == 0:
            continue
        for other in range(size):
            slopes[other] = -rate * predictions * np.exp(slopes[other] - np.float32(total))
        for q in range(low, high):
            if (q == center) == (objective != SKIPGRAM):
                slopes[stream[WORD, q]] += rate
        _move(hidden, contexts, slopes, moved)
        share = np.float32(1.0 / around if objective == CBOW_SUM else 1.0)
        for q in range(low, high):
            if (q == center) == (objective == SKIPGRAM):
                for column in range(columns):
                    table[stream[WORD, q], column] += share * moved[column]


@kernel
def _hidden(stream, center, table, objective, hidden):
    # the center's row, or the mean or sum of its contexts
    low = stream[LOW, center]
    high = stream[HIGH, center]
    hidden[:] = 0
    for q in range(low, high):
        if (q == center) == (objective == SKIPGRAM):
            for column in range(table.shape[1]):
                hidden[column] += table[stream[WORD, q], column]
    if objective == CBOW_MEAN:
        for column in range(table.shape[1]):
            hidden[column] /= np.float32(high - low - 1)


@kernel
def _scores(hidden, contexts, scores):
    # scores (V,), filled; returns the log of the sum of their exponentials
    largest = -np.inf
    for other in range(contexts.shape[0]):
        score = np.float32(0)
        for column in range(contexts.shape[1]):
            score += hidden[column] * contexts[other, column]
        scores[other] = score
        largest = max(largest, score)
    total = 0.0
    for other in range(contexts.shape[0]):
        total += np.exp(scores[other] - largest)
    return largest + np.log(total)


@kernel
def _move(hidden, contexts, slopes, moved):
    # every row moves by its slope times `hidden`; moved (D,), filled: the slopes times the rows as they were
    moved[:] = 0
    for other in range(contexts.shape[0]):
        for column in range(contexts.shape[1]):
            moved[column] += slopes[other] * contexts[other, column]
            contexts[other, column] += slopes[other] * hidden[column]
