"""What tests of several folders share: projects and sessions, processes, terminals, models that answer by script."""
