"""How fast recall is with so many memories of so many people, beside the floors of the same run."""
