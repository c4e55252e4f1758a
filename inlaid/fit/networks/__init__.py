"""Training networks: what all methods that train one share: settings, first weights, losses, steps"""
