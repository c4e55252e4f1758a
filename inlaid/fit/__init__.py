"""4  FEED -> VECTORS OR A MODEL, one file per method"""
