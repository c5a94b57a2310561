"""Rules decide: secrets, policy, the gates and the judge (R10, R13, R20)."""
