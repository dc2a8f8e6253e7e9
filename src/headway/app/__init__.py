"""What every surface calls: run a task, execute todos, report, each with the project's settings. Knows no surface."""
