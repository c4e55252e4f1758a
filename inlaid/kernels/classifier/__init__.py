"""A linear classifier over bags of features, trained with softmax."""
