-- How sure the reader of a fact was; of older facts that was not kept.

ALTER TABLE ricordo.facts ADD COLUMN confidence double precision NOT NULL DEFAULT 1;
ALTER TABLE ricordo.facts ADD CONSTRAINT facts_confidence CHECK (confidence BETWEEN 0 AND 1);
