-- Statistics without a join: a session says to which tenant it belongs.
ALTER TABLE ricordo.sessions ADD COLUMN tenant_id text COLLATE "C";

-- Row-level security is forced on the owner of the tables too: it would see no row to change.
ALTER TABLE ricordo.owners NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.sessions NO FORCE ROW LEVEL SECURITY;

UPDATE ricordo.sessions AS s SET tenant_id = o.tenant_id FROM ricordo.owners AS o WHERE o.owner = s.owner;

ALTER TABLE ricordo.owners FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.sessions FORCE ROW LEVEL SECURITY;

-- A tenant of a few users beside many others; the tenant of a session never changes, so updates stay in place.
CREATE INDEX sessions_by_tenant ON ricordo.sessions (tenant_id);
