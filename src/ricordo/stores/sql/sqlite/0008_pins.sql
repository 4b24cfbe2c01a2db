-- Facts that the user put first; older ones are not.

ALTER TABLE facts ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
