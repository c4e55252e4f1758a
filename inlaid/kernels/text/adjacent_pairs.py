"""Adjacent pairs of words: counting them, and joining those that are phrases."""

from __future__ import annotations

from inlaid.kernels.compile import kernel


@kernel
def count_words(ids, counts):
    # ids (T,) i4; counts (V,) i8, added to
    for n in range(ids.shape[0]):
        counts[ids[n]] += 1


@kernel
def scatter_followers(ids, offsets, low, high, ends, followers):
    # ids (T,) i4; offsets (S+1,) i8; followers (N,) i4, filled
    # ends (high-low,) i8: where the followers of word low + n begin, and on return where they end.
    for sentence in range(offsets.shape[0] - 1):
        for here in range(offsets[sentence], offsets[sentence + 1] - 1):
            word = ids[here]
            if low <= word < high:
                followers[ends[word - low]] = ids[here + 1]
                ends[word - low] += 1


@kernel
def count_followers(starts, ends, followers, min_count, times, first, second, counts):
    # starts, ends (W,) i8; followers (N,) i4; times (V,) i8, all 0 before and after
    # first (K,) i4, second (K,) i4, counts (K,) i8, filled with the pairs seen min_count times or more
    # Returns how many those are, and how many different pairs there are in all.
    filled = different = 0
    for word in range(starts.shape[0]):
        for n in range(starts[word], ends[word]):
            times[followers[n]] += 1
        for n in range(starts[word], ends[word]):
            seen = times[followers[n]]
            times[followers[n]] = 0
            different += seen > 0
            if seen >= min_count:
                first[filled] = word
                second[filled] = followers[n]
                counts[filled] = seen
                filled += 1
    return filled, different


@kernel
def join_pairs(ids, offsets, starts, seconds, phrases, out, out_offsets):
    # ids (T,) i4; offsets (S+1,) i8; out (T,) i4 and out_offsets (S+1,) i8, filled; returns how many tokens
    # are left
    # Word w followed by seconds[k] becomes phrases[k], for k in starts[w]..starts[w+1], where seconds are in
    # rising order.
    filled = 0
    out_offsets[0] = 0
    for sentence in range(offsets.shape[0] - 1):
        here = offsets[sentence]
        stop = offsets[sentence + 1]
        while here < stop:
            out[filled] = ids[here]
            low = starts[ids[here]]
            high = starts[ids[here] + 1]
            here += 1
            if low < high and here < stop:
                end = high
                while low < high:
                    middle = (low + high) >> 1
                    if seconds[middle] < ids[here]:
                        low = middle + 1
                    else:
                        high = middle
                if low < end and seconds[low] == ids[here]:
                    out[filled] = phrases[low]
                    here += 1
            filled += 1
        out_offsets[sentence + 1] = filled
    return filled
