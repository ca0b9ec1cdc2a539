"""The three-way merge of JSON: base, ours and theirs in, one document out. Pure: no protocol, no git, no file.

file.merge_file is the one way in; places.py is the recursion, whose result is a tree of pieces (core.jsonwrite): kept
Nodes, which are written with the bytes that they have, Fresh values, Built containers, and Choices, which are
conflicts. strategy.py has what a schema can say. These, items.py, layout.py, steps.py, superseded.py and markers.py are
on git's hot path, and import nothing but what is loaded anyway. The rest decides conflicts and checks schemas.
"""
