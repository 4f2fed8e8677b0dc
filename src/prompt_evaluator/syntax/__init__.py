"""Files that people write, read strictly: plain values with line numbers, or a sentence about what is wrong where."""
