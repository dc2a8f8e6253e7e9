"""How fast Headway is, as ratios to plain Python doing the same on the same machine, measured side by side."""
