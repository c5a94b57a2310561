"""Profile fields (R16): what may be known of a person as such, what for, who sees it, who changes it, how long."""
