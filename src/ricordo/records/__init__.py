"""Records: the immutable values that stores keep, and that functions take and return."""
