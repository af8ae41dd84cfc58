"""autoscirub: decides whether a coding agent's work is done, from evidence."""
