"""The same numbers as other programs, or as an older commit of this one?"""
