"""The state of tasks: what a workflow may change, what is left of a task that is over (R52)."""
