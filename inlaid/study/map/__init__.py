"""Words on a plane: layouts, their quality, pictures and pages"""
