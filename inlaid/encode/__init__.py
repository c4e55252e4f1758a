"""2  TEXT -> TOKENS -> IDS"""
