"""A program that talks through a spool until it is killed, and prints every turn id once it was acknowledged.

Arguments: database URL, spool directory, session id, how many turns (0 writes none and only replays).
"""

import sys
import time

from spool_postgres import open_spooled

from ricordo.records.turns import Owner
from ricordo.testing.fakes import a_turn

if __name__ == "__main__":
    url, directory, session_id, turns = sys.argv[1:]
    store = open_spooled(url, directory)
    print("open", flush=True)
    for n in range(int(turns)):
        print(store.turns.append(a_turn(Owner("acme", "anna"), f"question {n}", session_id=session_id)).id, flush=True)
    while True:
        time.sleep(1)
