"""What reacts: sealing, projecting, ingesting, remembering, erasing."""
