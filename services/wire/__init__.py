"""What crosses the door as JSON: requests, answers, and the one strict way to read them (R80)."""
