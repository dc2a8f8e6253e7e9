"""What runs in a process of its own and prints JSON: the loops that are compared, and what is not installed here.

Modules for an environment of its own import only what its requirements list, and the standard library.
"""
