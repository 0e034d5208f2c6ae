"""The market's hall: figures of all jobs, public jobs, and the pages about jobs."""
