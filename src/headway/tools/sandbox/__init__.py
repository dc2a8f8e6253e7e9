"""A sandbox for commands, where the system offers one: what they can read, write and reach.

`places` says what a command may use, `bubblewrap` and `seatbelt` put that into words for the program that enforces it,
`available` finds out whether there is one, and `sandbox` puts them together.
"""
