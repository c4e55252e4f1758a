"""Vector instructions, written in LLVM: the parts that kernels are made of"""
