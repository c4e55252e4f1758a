"""The parts of a Transformer, and the models made of them (torch)"""
