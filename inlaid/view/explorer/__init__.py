"""Explorer: maps, completion and exports for the page of `inlaid explore`; its answers are the analyses'."""
