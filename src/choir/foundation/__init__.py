"""What everything stands on: canonical bytes, ids, money, time, errors, settings, policy.

Nothing here does I/O beyond reading a settings file, and nothing here knows a feature.
"""
