"""What holds for the house as a whole: who may import whom, what a command may load, what a room
contains.
"""
