"""How fast the log appends, beside other event stores under the same load."""
