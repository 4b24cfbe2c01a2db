-- Facts that the user put first; older ones are not.

ALTER TABLE ricordo.facts ADD COLUMN pinned boolean NOT NULL DEFAULT false;
