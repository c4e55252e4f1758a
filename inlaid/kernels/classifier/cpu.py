"""The classifier by Numba. `reference.py` is the definition."""

from __future__ import annotations

import math

import numpy as np

from inlaid.kernels.compile import kernel


@kernel
def train(network, examples, order, schedule, hidden, shares):
    # network: table (R, D) f4, output (K, D) f4, bias (K,) f4, in place
    # examples: ids (F,) i4, bounds (T + 1,) i8, labels (T,) i4; order (N,) i8: the texts to train on
    # schedule: learning rates, 0 to measure; hidden (2, D) and shares (K,) f4: scratch; returns the loss
    table = network.table
    output = network.output
    bias = network.bias
    dim = table.shape[1]
    classes = output.shape[0]
    slope = (schedule.last_learning_rate - schedule.first_learning_rate) / max(order.shape[0], 1)
    trains = schedule.first_learning_rate > 0
    loss = 0.0
    for place in range(order.shape[0]):
        text = order[place]
        begin = examples.bounds[text]
        end = examples.bounds[text + 1]
        label = examples.labels[text]
        if begin == end:
            continue
        share = np.float32(1) / np.float32(end - begin)
        for d in range(dim):
            hidden[0, d] = 0
            hidden[1, d] = 0
        for n in range(begin, end):
            row = examples.ids[n]
            for d in range(dim):
                hidden[0, d] += table[row, d]
        for d in range(dim):
            hidden[0, d] *= share
        highest = np.float32(-3e38)
        for k in range(classes):
            score = np.float32(0)
            for d in range(dim):
                score += output[k, d] * hidden[0, d]
            shares[k] = score + bias[k]
            highest = max(highest, shares[k])
        total = np.float32(0)
        for k in range(classes):
            shares[k] = np.float32(math.exp(shares[k] - highest))
            total += shares[k]
        loss -= math.log(max(shares[label] / total, np.float32(1e-30)))
        if not trains:
            continue
        learning_rate = np.float32(schedule.first_learning_rate + slope * place)
        for k in range(classes):
            gradient = learning_rate * (np.float32(k == label) - shares[k] / total)
            bias[k] += gradient * share
            for d in range(dim):
                hidden[1, d] += gradient * output[k, d]
                output[k, d] += gradient * hidden[0, d]
        for d in range(dim):
            hidden[1, d] *= share
        for n in range(begin, end):
            row = examples.ids[n]
            for d in range(dim):
                table[row, d] += hidden[1, d]
    return loss
