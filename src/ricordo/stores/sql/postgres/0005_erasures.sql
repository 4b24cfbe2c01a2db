-- When owners were erased: the key, which is derived from their names, and the time; no content, and never deleted.
-- A write that was acknowledged before, and comes later from the spool of another machine, is refused.

CREATE TABLE ricordo.erasures (
    owner      uuid PRIMARY KEY,
    erased_at  bigint NOT NULL
);

ALTER TABLE ricordo.erasures ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.erasures FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.erasures
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);
CREATE POLICY for_backup ON ricordo.erasures FOR SELECT
    USING (current_setting('ricordo.backup', true) = 'on');

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE ON ricordo.erasures TO ricordo_app;
    END IF;
END
$$;
