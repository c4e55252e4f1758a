"""GloVe: weighted least squares on the logarithms of co-occurrence counts"""
