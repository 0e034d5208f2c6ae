"""Disputes: a second look at a verdict, by machine first and by people where a machine cannot decide."""
