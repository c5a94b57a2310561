"""Who is asking: API keys of tenants, short tokens for one person's memory, and what each part may do (R73)."""
