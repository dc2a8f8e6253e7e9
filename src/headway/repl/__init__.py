"""The terminal session: `headway` alone. prompt_toolkit has the screen, rich draws into it."""
