"""How long things may take around a database that may go away; all in seconds, all in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """`suspicion`: while a call waits and nobody was answered for so long, a simple question is asked, now and not at
    the next `interval`.

    `doubt`: if nobody is answered for so long after the question, calls that can do without the database do.
    `silence`: if nobody is for so long, the database is away, and whoever waits for it is let go. `longest`: a call is
    let go after this even if the database answers others. `opening`: how long the first connection is waited for.
    `first_pause`, doubled up to `longest_pause`: between questions to a database that is away. `patience`: how long a
    call that needs an empty spool waits for it.
    """

    suspicion: float = 0.01
    doubt: float = 0.02
    silence: float = 0.25
    interval: float = 0.25
    longest: float = 5.0
    opening: float = 3.0
    first_pause: float = 0.05
    longest_pause: float = 2.0
    patience: float = 2.0
