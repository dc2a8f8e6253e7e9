"""What every surface calls: choose a session, run a task, execute todos, ask, report, with the project's settings."""
