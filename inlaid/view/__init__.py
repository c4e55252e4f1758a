"""Server: vectors and models for programs, over HTTP; endpoints follow from the registered analyses."""
