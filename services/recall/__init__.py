"""Finding the memories that matter now: keyword scores, fusion, ranking, leases."""
