"""The three-way merge of JSON: base, ours and theirs in, one document out.

It is pure, and knows no protocol, no git and no file.

result.py has the vocabulary: the sides and the pieces of a result. file.merge_file is the one way
in; places.py is the recursion, lists.py and items.py merge lists, strategy.py has what a schema can
say, and layout.py makes text of the result. These, steps.py, superseded.py and markers.py are on
git's hot path, and import nothing but what is loaded anyway. The rest decides conflicts and checks
schemas.
"""
