"""Do the metrics agree with people, and do they see what is wrong?"""
