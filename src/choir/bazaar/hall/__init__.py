"""The market's hall: what everybody may see of jobs."""
