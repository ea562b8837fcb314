-- What the management of keys, credits and limits needs beside the tables of accounts.

-- A rotated key is a key of its own; `rotated_from` names the one that it takes over from, which is rotated once.
ALTER TABLE api_keys
  ADD COLUMN rotated_from text UNIQUE REFERENCES api_keys (id),
  ADD COLUMN last_used_at timestamptz;
CREATE INDEX api_keys_organization ON api_keys (organization_id, created_at);

-- For reports over a time. Entries arrive in the order of their time, so a few bytes for each 128 pages will do, and
-- writing an entry costs nothing more.
CREATE INDEX ledger_entries_time ON ledger_entries USING brin (created_at) WITH (autosummarize = on);

-- Grants credits once for each id: 'granted', 'repeated', 'mismatch' when the id granted another amount, or 'too_much'
-- when the pool would hold more micro-credits than clients can count (2^53). Null: there is no such organization.
CREATE FUNCTION grant_credits(
  p_organization text, p_operation_id text, p_amount bigint, p_now timestamptz, OUT outcome text
) LANGUAGE plpgsql AS $$
DECLARE
  account accounts;
  earlier bigint;
BEGIN
  SELECT * INTO account FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT amount INTO earlier FROM ledger_entries WHERE operation_id = p_operation_id;
  IF FOUND THEN
    outcome := CASE WHEN earlier = p_amount THEN 'repeated' ELSE 'mismatch' END;
    RETURN;
  END IF;
  IF account.granted + p_amount > 9000000000000000 THEN
    outcome := 'too_much';
    RETURN;
  END IF;
  INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
  VALUES (p_organization, 'grant', p_operation_id, 'grant', p_amount, p_now);
  UPDATE accounts SET granted = granted + p_amount WHERE organization_id = p_organization;
  outcome := 'granted';
END
$$;
