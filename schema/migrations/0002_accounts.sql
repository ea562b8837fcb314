-- Organizations, their keys, their credit pool and their rate limits.
-- Amounts are integer micro-credits (1 credit = 1,000,000).

CREATE TABLE organizations (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  secret_hmac bytea NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);

-- One row per organization, the only one that concurrent calls contend for. `admitted` numbers the admitted calls;
-- those from `window_start` on may still count against the minute.
CREATE TABLE accounts (
  organization_id text PRIMARY KEY REFERENCES organizations (id),
  granted bigint NOT NULL DEFAULT 0,
  posted bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,
  per_minute integer,
  per_day integer,
  admitted bigint NOT NULL DEFAULT 0,
  window_start bigint NOT NULL DEFAULT 1,
  last_admitted_at timestamptz NOT NULL DEFAULT '-infinity',
  day date NOT NULL DEFAULT '-infinity',
  day_admitted integer NOT NULL DEFAULT 0,
  CHECK (posted >= 0),
  CHECK (held >= 0),
  CHECK (posted + held <= granted)
);

-- Credits reserved by calls under way. The process that runs the call moves `expires_at` on while it lives.
CREATE TABLE holds (
  operation_id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES accounts (organization_id),
  operation text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  expires_at timestamptz NOT NULL
);
CREATE INDEX holds_expires_at ON holds (expires_at);

-- What was granted and charged, for ever: grants sum to `granted`, charges to `posted`.
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id text NOT NULL REFERENCES accounts (organization_id),
  kind text NOT NULL CHECK (kind IN ('grant', 'charge')),
  operation_id text NOT NULL UNIQUE,
  operation text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  created_at timestamptz NOT NULL
);
CREATE INDEX ledger_entries_organization ON ledger_entries (organization_id, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- When each admitted call was admitted. Numbered per organization, so that "was the 60th call before this one more than
-- 60 seconds ago?" is one look-up by primary key.
CREATE TABLE admissions (
  organization_id text NOT NULL REFERENCES accounts (organization_id),
  number bigint NOT NULL,
  admitted_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, number)
);

-- How much of its rate limits an organization has used at `p_now`. The caller holds the account's row lock, or accepts
-- an answer that other calls may just have changed.
CREATE FUNCTION rate_limit_usage(
  p_organization text, p_default_per_minute integer, p_default_per_day integer, p_now timestamptz,
  OUT per_minute integer, OUT minute_used integer, OUT minute_reset timestamptz,
  OUT per_day integer, OUT day_used integer, OUT day_reset timestamptz,
  OUT first_in_window bigint, OUT measured_at timestamptz
) LANGUAGE plpgsql STABLE AS $$
DECLARE
  account accounts;
BEGIN
  SELECT * INTO STRICT account FROM accounts WHERE organization_id = p_organization;
  -- Clocks may step back; an organization's time never does, or a call could fall out of two windows at once.
  measured_at := greatest(p_now, account.last_admitted_at);
  per_minute := coalesce(account.per_minute, p_default_per_minute);
  per_day := coalesce(account.per_day, p_default_per_day);

  SELECT number INTO first_in_window FROM admissions
   WHERE organization_id = p_organization AND number >= account.window_start
     AND admitted_at > measured_at - interval '60 seconds'
   ORDER BY number LIMIT 1;
  first_in_window := coalesce(first_in_window, account.admitted + 1);
  minute_used := account.admitted - first_in_window + 1;
  -- While calls are refused: when enough of them have left the window. Otherwise: when the oldest leaves it.
  SELECT admitted_at + interval '60 seconds' INTO minute_reset FROM admissions
   WHERE organization_id = p_organization
     AND number = greatest(account.admitted - per_minute + 1, first_in_window);
  minute_reset := coalesce(minute_reset, measured_at + interval '60 seconds');

  day_used := CASE WHEN account.day = (measured_at AT TIME ZONE 'UTC')::date THEN account.day_admitted ELSE 0 END;
  day_reset := (((measured_at AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC');
END
$$;

-- Admits one call or refuses it: rate limits, credit and hold in one step under the account's row lock.
CREATE FUNCTION admit_call(
  p_organization text, p_operation_id text, p_operation text, p_amount bigint, p_hold_seconds double precision,
  p_default_per_minute integer, p_default_per_day integer, p_now timestamptz,
  OUT outcome text, OUT available bigint,
  OUT per_minute integer, OUT minute_used integer, OUT minute_reset timestamptz,
  OUT per_day integer, OUT day_used integer, OUT day_reset timestamptz, OUT measured_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  account accounts;
  usage record;
BEGIN
  SELECT * INTO STRICT account FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  SELECT * INTO usage FROM rate_limit_usage(p_organization, p_default_per_minute, p_default_per_day, p_now);
  per_minute := usage.per_minute;
  minute_used := usage.minute_used;
  minute_reset := usage.minute_reset;
  per_day := usage.per_day;
  day_used := usage.day_used;
  day_reset := usage.day_reset;
  measured_at := usage.measured_at;
  available := account.granted - account.posted - account.held;

  IF minute_used >= per_minute OR day_used >= per_day THEN
    outcome := 'rate_limited';
    RETURN;
  END IF;
  IF p_amount > available THEN
    outcome := 'insufficient_credits';
    RETURN;
  END IF;

  outcome := 'admitted';
  available := available - p_amount;
  minute_used := minute_used + 1;
  day_used := day_used + 1;
  UPDATE accounts SET
    held = held + p_amount,
    admitted = admitted + 1,
    window_start = usage.first_in_window,
    last_admitted_at = usage.measured_at,
    day = (usage.measured_at AT TIME ZONE 'UTC')::date,
    day_admitted = admit_call.day_used
  WHERE organization_id = p_organization;
  INSERT INTO admissions VALUES (p_organization, account.admitted + 1, usage.measured_at);
  IF p_amount > 0 THEN
    INSERT INTO holds VALUES (
      p_operation_id, p_organization, p_operation, p_amount, p_now + make_interval(secs => p_hold_seconds)
    );
  END IF;
END
$$;

-- Ends a hold and charges what was used. Charges beyond the hold are taken from what is free in the pool and cut there,
-- so that the pool is never overdrawn. Repeating it answers what the first time charged; null when the hold had expired.
CREATE FUNCTION settle_call(
  p_organization text, p_operation_id text, p_used bigint, p_now timestamptz, OUT charged bigint
) LANGUAGE plpgsql AS $$
DECLARE
  account accounts;
  hold holds;
BEGIN
  SELECT * INTO STRICT account FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  DELETE FROM holds WHERE operation_id = p_operation_id RETURNING * INTO hold;
  IF NOT FOUND THEN
    SELECT amount INTO charged FROM ledger_entries WHERE operation_id = p_operation_id;
    RETURN;
  END IF;
  charged := least(p_used, hold.amount + account.granted - account.posted - account.held);
  UPDATE accounts SET held = held - hold.amount, posted = posted + charged WHERE organization_id = p_organization;
  IF charged > 0 THEN
    INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
    VALUES (p_organization, 'charge', p_operation_id, hold.operation, charged, p_now);
  END IF;
END
$$;

-- Releases the holds of processes that died, organization by organization, each under its account's row lock.
CREATE FUNCTION release_expired_holds(p_now timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  organization text;
  released bigint;
  total bigint := 0;
BEGIN
  FOR organization IN
    SELECT DISTINCT organization_id FROM holds WHERE expires_at <= p_now ORDER BY organization_id
  LOOP
    PERFORM 1 FROM accounts WHERE organization_id = organization FOR UPDATE;
    WITH expired AS (
      DELETE FROM holds WHERE organization_id = organization AND expires_at <= p_now RETURNING amount
    ), freed AS (
      SELECT count(*) AS holds, coalesce(sum(amount), 0) AS amount FROM expired
    ), updated AS (
      UPDATE accounts SET held = held - freed.amount FROM freed WHERE organization_id = organization
    )
    SELECT holds INTO released FROM freed;
    total := total + released;
  END LOOP;
  RETURN total;
END
$$;
