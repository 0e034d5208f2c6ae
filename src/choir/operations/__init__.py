"""Running a node: preparing its home and database, keeping its processes, backup, doctor."""
