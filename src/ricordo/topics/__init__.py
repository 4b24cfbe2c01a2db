"""Topics: what a session talks about, how its messages find their topic, and how topics fade, compact and merge.

Everything here is pure: records, numbers and the moment go in, records and plans come out.
"""
