"""The pairs of a group of four words, as weights: which positive pairs and negatives there are, and how much
each counts.

A weight is 0 for a pair that is not there. Otherwise it is the learning rate, times the weight of a shared
negative. Weight 4 q + i belongs to target q (a row of the context table) and word i of the group.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import part
from inlaid.kernels.simd.byte_vectors import lowest_bit
from inlaid.kernels.simd.llvm import GROUP
from inlaid.kernels.simd.tiles import centers_of_contexts, contexts_of_centers, matches, repeat_four

NEGATIVES_FROM = 4
"""In CBOW the weights of negatives start at this target. Before it come the four centers, one for each word
of the group: a vector of 16 that is written and read as a whole needs no waiting for single writes."""


@part
def skipgram_pairs(stream, group, negatives, scratch):
    # scratch.targets, filled: the ids of the centers around four words, then of the negatives
    # scratch.weights, filled: [4 q + i] of target q and word i; returns the number of centers
    # As in word2vec's own code, every word of a window predicts its center: the positive pairs of a word are
    # the centers whose windows it is in.
    targets = scratch.targets
    weights = scratch.weights
    positive = scratch.first_four
    negative = scratch.second_four
    low = max(group.start - group.window, 0)
    high = group.stop + group.window
    while low < group.start and stream.high[low] <= group.start:  # its window ends before the group
        low += 1
    while high > group.stop and stream.low[high - 1] >= group.stop:
        high -= 1
    centers = high - low
    for q in range(centers):
        targets[q] = stream.words[low + q]
    for n in range(group.shared_negatives):
        targets[centers + n] = negatives[n]
    for i in range(GROUP):
        positive[i] = group.learning_rate
        negative[i] = 0
    for q in range(0, centers, GROUP):
        centers_of_contexts(stream.low, stream.high, group.start, low + q, positive, weights, GROUP * q)
    for q in range(centers):  # each positive pair has its negatives
        for i in range(GROUP):
            negative[i] += group.negative_learning_rate if weights[GROUP * q + i] > 0 else np.float32(0)
    for n in range(centers, centers + group.shared_negatives, GROUP):
        repeat_four(negative, weights, GROUP * n)
    for q in range(centers):  # a negative that is the center itself does not count for its pairs
        for begin in range(0, group.shared_negatives, 16):
            found = matches(negatives, begin, stream.words[low + q])
            while found != 0:
                n = centers + begin + lowest_bit(found)
                found &= found - 1
                for i in range(GROUP):
                    weights[GROUP * n + i] -= (
                        group.negative_learning_rate if weights[GROUP * q + i] > 0 else np.float32(0)
                    )
    return centers


@part
def cbow_pairs(stream, group, negatives, scratch):
    # scratch.weights, filled: [i] of center i with its own contexts, [4 (NEGATIVES_FROM + n) + i] of negative
    # n with the contexts of center i
    weights = scratch.weights
    negative = scratch.first_four
    weights[GROUP : GROUP * NEGATIVES_FROM] = 0
    for i in range(GROUP):
        has_contexts = stream.high[group.start + i] - stream.low[group.start + i] > 1
        weights[i] = group.learning_rate if has_contexts else np.float32(0)
        negative[i] = group.negative_learning_rate if has_contexts else np.float32(0)
    for n in range(NEGATIVES_FROM, NEGATIVES_FROM + group.shared_negatives, GROUP):
        repeat_four(negative, weights, GROUP * n)
    for i in range(GROUP):  # a negative that is the center itself does not count
        for begin in range(0, group.shared_negatives, 16):
            found = matches(negatives, begin, stream.words[group.start + i])
            while found != 0:
                weights[GROUP * (NEGATIVES_FROM + begin + lowest_bit(found)) + i] = 0
                found &= found - 1


@part
def context_weights(stream, first, mean, scratch):
    # [4 q + i] of context low + q and center first + i, filled: scratch.context_weights, what the context
    # adds to the hidden vector, and scratch.error_weights, its part of the update of the hidden vector: all
    # of it for the mean, an equal share for the sum
    # returns low, the first context, and the number of contexts
    context_weight = scratch.first_four
    error_weight = scratch.second_four
    low = stream.low[first]
    high = stream.high[first]
    for i in range(GROUP):
        low = min(low, stream.low[first + i])
        high = max(high, stream.high[first + i])
        share = np.float32(1) / np.float32(max(stream.high[first + i] - stream.low[first + i] - 1, 1))
        context_weight[i] = share if mean else np.float32(1)
        error_weight[i] = np.float32(1) if mean else share
    for q in range(0, high - low, GROUP):
        contexts_of_centers(
            stream.low, stream.high, first, low + q, context_weight, scratch.context_weights, GROUP * q
        )
        contexts_of_centers(
            stream.low, stream.high, first, low + q, error_weight, scratch.error_weights, GROUP * q
        )
    return low, high - low
