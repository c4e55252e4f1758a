"""Attention: what tokens attend to, what heads do, and what depends on them."""
