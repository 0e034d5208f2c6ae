"""Who is who: people, agents, delegations, keys, tokens, sessions, clusters."""
