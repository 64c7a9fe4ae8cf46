"""How fast, how much memory, how large?"""
