"""What was counted, on disk. What comes twice counts once."""

import os
import sqlite3


def run_folder(conf):
    """The folder for the files of this run of the topology."""
    run = conf.get("storm.id") or conf["topology.name"]
    folder = os.path.join(conf["wordcount.output"], run)
    os.makedirs(folder, exist_ok=True)
    return folder


class Ledger:
    """Counts things by line. It is as it was when its process has died."""

    def __init__(self, folder, name):
        self.db = sqlite3.connect(os.path.join(folder, name + ".db"), timeout=30)
        self.db.execute("PRAGMA journal_mode = TRUNCATE")
        self.db.execute("PRAGMA synchronous = OFF")  # the death of a process loses nothing
        with self.db:
            self.db.execute(
                "CREATE TABLE IF NOT EXISTS seen"
                " (thing TEXT, line INTEGER, times INTEGER, PRIMARY KEY (thing, line)) WITHOUT ROWID"
            )

    def add(self, thing, lines):
        """Adds pairs of line and times; returns how often the thing was seen."""
        with self.db:
            self.db.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", [(thing, *pair) for pair in lines])
            return self.db.execute("SELECT SUM(times) FROM seen WHERE thing = ?", (thing,)).fetchone()[0]
