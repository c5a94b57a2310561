"""Two years of many people's use, in accelerated time (R53)."""
