"""Declared checks: commands that Headway itself runs to see whether a todo is completed, and what keeps them honest."""
