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
  revoked_at timestamptz,
  per_minute integer
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

-- The tables below are written only by the functions below, which lock the account first: a foreign key would check
-- again, row by row, on the one row that everybody contends for, what they have made sure of.

-- Calls under way and the credits reserved for them, 0 for a free call with an idempotency key (`space` and `key`).
-- The process that runs the call moves `expires_at` on while it lives.
CREATE TABLE holds (
  operation_id text PRIMARY KEY,
  organization_id text NOT NULL,
  operation text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  space text,
  key text,
  expires_at timestamptz NOT NULL
);
CREATE INDEX holds_expires_at ON holds (expires_at);

-- What was granted and charged, for ever: grants sum to `granted`, charges to `posted`. `model` is `vendor/model`, where
-- a charge was for one.
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge')),
  operation_id text NOT NULL UNIQUE,
  operation text NOT NULL,
  model text,
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
-- 60 seconds ago?" is one look-up by primary key. `operation_id` is kept for calls that have no hold to be known by.
CREATE TABLE admissions (
  organization_id text NOT NULL,
  number bigint NOT NULL,
  admitted_at timestamptz NOT NULL,
  key_id text NOT NULL,
  operation_id text,
  PRIMARY KEY (organization_id, number)
);
CREATE INDEX admissions_key ON admissions (key_id, number);
CREATE INDEX admissions_operation ON admissions (operation_id) WHERE operation_id IS NOT NULL;

-- Who called first with an idempotency key, and what was answered. A record without a response is in progress and lives
-- and dies with the hold of its operation; one with a response lives until `expires_at`.
CREATE TABLE idempotency_records (
  organization_id text NOT NULL,
  space text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  operation_id text NOT NULL,
  response text,
  expires_at timestamptz,
  PRIMARY KEY (organization_id, space, key)
) WITH (fillfactor = 60);
-- Records end in the order of their time. This kind of index does not stand in the way of updates in place.
CREATE INDEX idempotency_records_expires_at ON idempotency_records USING brin (expires_at) WITH (autosummarize = on);

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

-- The keys among `p_keys` that have a limit of their own, as {key: {per_minute, used, reset}}; null without any.
CREATE FUNCTION key_limit_usage(
  p_organization text, p_keys text[], p_first_in_window bigint, p_measured_at timestamptz
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT jsonb_object_agg(id, jsonb_build_object(
      'per_minute', per_minute,
      'used', used,
      'reset', coalesce((
        SELECT admitted_at FROM admissions
         WHERE organization_id = p_organization AND key_id = id AND number >= p_first_in_window
         ORDER BY number OFFSET greatest(used - per_minute, 0) LIMIT 1
      ), p_measured_at) + interval '60 seconds'
    ))
    FROM api_keys, LATERAL (
      SELECT count(*) AS used FROM admissions
       WHERE organization_id = p_organization AND key_id = id AND number >= p_first_in_window
    ) AS admitted
    WHERE id = ANY (p_keys) AND per_minute IS NOT NULL
  );
END
$$;

-- What became of one call of a batch. `place` counts from 1 among the batch's settlements or admissions.
CREATE TYPE batch_answer AS (
  call text,
  place bigint,
  outcome text,
  charged bigint,
  available bigint,
  per_minute integer,
  minute_used integer,
  minute_reset timestamptz,
  per_day integer,
  day_used integer,
  day_reset timestamptz,
  key_per_minute integer,
  key_used integer,
  key_reset timestamptz,
  measured_at timestamptz
);

-- Ends holds and charges what was used, in one step under the account's row lock. A charge beyond the hold is taken from
-- what is free in the pool and cut there, so that the pool is never overdrawn. Repeating a settlement answers what the
-- first time charged; null when the hold is gone and nothing was charged. `shared` marks calls of which the batch has
-- more than one.
CREATE FUNCTION settle_batch(p_organization text, p_settlements json, p_now timestamptz)
RETURNS SETOF batch_answer LANGUAGE plpgsql AS $$
DECLARE
  account accounts;
  item record;
  answer batch_answer;
  earlier jsonb := '{}';
  ended text[] := '{}';
  charged_ids text[] := '{}';
  charged_operations text[] := '{}';
  charged_models text[] := '{}';
  charged_amounts bigint[] := '{}';
  record_ids text[] := '{}';
  record_spaces text[] := '{}';
  record_keys text[] := '{}';
  record_responses text[] := '{}';
BEGIN
  SELECT * INTO STRICT account FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  answer.call := 'settle';
  FOR item IN
    SELECT s.*, h.operation, h.amount, h.space, h.key, l.amount AS charged
      FROM ROWS FROM (json_to_recordset(p_settlements) AS (
             operation_id text, used bigint, model text, response text, shared boolean
           )) WITH ORDINALITY AS s (operation_id, used, model, response, shared, place)
      LEFT JOIN holds h ON h.operation_id = s.operation_id AND h.organization_id = p_organization
      LEFT JOIN ledger_entries l
        ON l.operation_id = s.operation_id AND l.organization_id = p_organization AND l.kind = 'charge'
     ORDER BY s.place
  LOOP
    answer.place := item.place;
    IF item.shared AND earlier ? item.operation_id THEN
      answer.charged := earlier ->> item.operation_id;
    ELSIF item.amount IS NULL THEN
      answer.charged := item.charged;
    ELSE
      answer.charged := least(item.used, item.amount + account.granted - account.posted - account.held);
      account.held := account.held - item.amount;
      account.posted := account.posted + answer.charged;
      ended := array_append(ended, item.operation_id);
      IF answer.charged > 0 THEN
        charged_ids := array_append(charged_ids, item.operation_id);
        charged_operations := array_append(charged_operations, item.operation);
        charged_models := array_append(charged_models, item.model);
        charged_amounts := array_append(charged_amounts, answer.charged);
      END IF;
      IF item.key IS NOT NULL THEN
        record_ids := array_append(record_ids, item.operation_id);
        record_spaces := array_append(record_spaces, item.space);
        record_keys := array_append(record_keys, item.key);
        record_responses := array_append(record_responses, item.response);
      END IF;
      IF item.shared THEN
        earlier := earlier || jsonb_build_object(item.operation_id, nullif(answer.charged, 0));
      END IF;
    END IF;
    RETURN NEXT answer;
  END LOOP;

  IF cardinality(ended) = 0 THEN
    RETURN;
  END IF;
  DELETE FROM holds WHERE operation_id = ANY (ended);
  UPDATE accounts SET held = account.held, posted = account.posted WHERE organization_id = p_organization;
  IF cardinality(charged_ids) > 0 THEN
    INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, model, amount, created_at)
    SELECT p_organization, 'charge', charge.*, p_now
      FROM unnest(charged_ids, charged_operations, charged_models, charged_amounts) AS charge;
  END IF;
  FOR i IN 1 .. cardinality(record_ids) LOOP
    IF record_responses[i] IS NULL THEN
      DELETE FROM idempotency_records WHERE organization_id = p_organization
         AND space = record_spaces[i] AND key = record_keys[i] AND operation_id = record_ids[i];
    ELSE
      UPDATE idempotency_records SET response = record_responses[i], expires_at = p_now + interval '24 hours'
       WHERE organization_id = p_organization
         AND space = record_spaces[i] AND key = record_keys[i] AND operation_id = record_ids[i];
    END IF;
  END LOOP;
END
$$;

-- Admits calls or refuses them, in their order: idempotency, rate limits, credit and hold in one step under the account's
-- row lock. A call that is held or charged already is answered as before and not counted again. `shared` marks calls
-- whose operation id or idempotency key the batch has more than once.
CREATE FUNCTION admit_batch(
  p_organization text, p_admissions json, p_hold_seconds double precision,
  p_default_per_minute integer, p_default_per_day integer, p_now timestamptz
) RETURNS SETOF batch_answer LANGUAGE plpgsql AS $$
DECLARE
  account accounts;
  usage record;
  item record;
  answer batch_answer;
  keys jsonb;
  key_usage jsonb;
  standing text;
  earlier jsonb := '{}';
  counted_ids text[] := '{}';
  counted_keys text[] := '{}';
  held_ids text[] := '{}';
  held_operations text[] := '{}';
  held_amounts bigint[] := '{}';
  held_spaces text[] := '{}';
  held_keys text[] := '{}';
  record_ids text[] := '{}';
  record_spaces text[] := '{}';
  record_keys text[] := '{}';
  record_fingerprints text[] := '{}';
BEGIN
  SELECT * INTO STRICT account FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  SELECT * INTO usage FROM rate_limit_usage(p_organization, p_default_per_minute, p_default_per_day, p_now);
  keys := key_limit_usage(
    p_organization,
    ARRAY(SELECT DISTINCT key_id FROM json_to_recordset(p_admissions) AS (key_id text)),
    usage.first_in_window,
    usage.measured_at
  );
  answer.call := 'admit';
  answer.available := account.granted - account.posted - account.held;
  answer.per_minute := usage.per_minute;
  answer.minute_used := usage.minute_used;
  answer.minute_reset := usage.minute_reset;
  answer.per_day := usage.per_day;
  answer.day_used := usage.day_used;
  answer.day_reset := usage.day_reset;
  answer.measured_at := usage.measured_at;

  FOR item IN
    SELECT a.*, h.operation_id AS held, l.operation_id AS charged, d.operation_id AS counted,
           r.fingerprint AS record_fingerprint, r.response IS NOT NULL AS record_completed
      FROM ROWS FROM (json_to_recordset(p_admissions) AS (
             operation_id text, operation text, bound bigint, key_id text, space text, key text, fingerprint text,
             shared boolean
           )) WITH ORDINALITY
           AS a (operation_id, operation, bound, key_id, space, key, fingerprint, shared, place)
      LEFT JOIN holds h ON h.operation_id = a.operation_id AND h.organization_id = p_organization
      LEFT JOIN ledger_entries l ON l.operation_id = a.operation_id AND l.organization_id = p_organization
      LEFT JOIN admissions d
        ON d.operation_id = a.operation_id AND d.organization_id = p_organization AND a.bound = 0 AND a.key IS NULL
       AND d.admitted_at > usage.measured_at - interval '60 seconds'
      LEFT JOIN idempotency_records r
        ON r.organization_id = p_organization AND r.space = a.space AND r.key = a.key
       AND (r.expires_at IS NULL OR r.expires_at > p_now)
     ORDER BY a.place
  LOOP
    answer.place := item.place;
    key_usage := keys -> item.key_id;
    answer.key_per_minute := key_usage -> 'per_minute';
    answer.key_used := key_usage -> 'used';
    answer.key_reset := key_usage ->> 'reset';
    standing := item.record_fingerprint;
    IF item.shared THEN
      standing := coalesce(standing, earlier ->> ('key/' || item.space || '/' || item.key));
    END IF;

    IF coalesce(item.held, item.charged, item.counted) IS NOT NULL
      OR (item.shared AND earlier ? ('operation/' || item.operation_id))
    THEN
      answer.outcome := 'admitted';
    ELSIF standing <> item.fingerprint THEN
      answer.outcome := 'mismatch';
    ELSIF standing IS NOT NULL THEN
      answer.outcome := CASE WHEN item.record_completed THEN 'replay' ELSE 'in_progress' END;
    ELSIF answer.minute_used >= answer.per_minute OR answer.day_used >= answer.per_day
      OR answer.key_used >= answer.key_per_minute
    THEN
      answer.outcome := 'rate_limited';
    ELSIF item.bound > answer.available THEN
      answer.outcome := 'insufficient_credits';
    ELSE
      answer.outcome := 'admitted';
      answer.available := answer.available - item.bound;
      answer.minute_used := answer.minute_used + 1;
      answer.day_used := answer.day_used + 1;
      IF key_usage IS NOT NULL THEN
        answer.key_used := answer.key_used + 1;
        keys := jsonb_set(keys, ARRAY[item.key_id, 'used'], to_jsonb(answer.key_used));
      END IF;
      counted_keys := array_append(counted_keys, item.key_id);
      IF item.bound = 0 AND item.key IS NULL THEN
        counted_ids := array_append(counted_ids, item.operation_id);
      ELSE
        counted_ids := array_append(counted_ids, NULL);
        held_ids := array_append(held_ids, item.operation_id);
        held_operations := array_append(held_operations, item.operation);
        held_amounts := array_append(held_amounts, item.bound);
        held_spaces := array_append(held_spaces, item.space);
        held_keys := array_append(held_keys, item.key);
      END IF;
      IF item.key IS NOT NULL THEN
        record_ids := array_append(record_ids, item.operation_id);
        record_spaces := array_append(record_spaces, item.space);
        record_keys := array_append(record_keys, item.key);
        record_fingerprints := array_append(record_fingerprints, item.fingerprint);
      END IF;
      IF item.shared THEN
        earlier := earlier || jsonb_build_object('operation/' || item.operation_id, true);
        IF item.key IS NOT NULL THEN
          earlier := earlier || jsonb_build_object('key/' || item.space || '/' || item.key, item.fingerprint);
        END IF;
      END IF;
    END IF;
    RETURN NEXT answer;
  END LOOP;

  IF cardinality(counted_keys) = 0 THEN
    RETURN;
  END IF;
  UPDATE accounts SET
    held = account.granted - account.posted - answer.available,
    admitted = account.admitted + cardinality(counted_keys),
    window_start = usage.first_in_window,
    last_admitted_at = usage.measured_at,
    day = (usage.measured_at AT TIME ZONE 'UTC')::date,
    day_admitted = answer.day_used
  WHERE organization_id = p_organization;
  -- No window needs what was before the first in this one.
  IF usage.first_in_window > account.window_start THEN
    DELETE FROM admissions WHERE organization_id = p_organization
       AND number >= account.window_start AND number < usage.first_in_window;
  END IF;
  INSERT INTO admissions (organization_id, number, admitted_at, key_id, operation_id)
  SELECT p_organization, account.admitted + place, usage.measured_at, counted.key_id, counted.operation_id
    FROM unnest(counted_keys, counted_ids) WITH ORDINALITY AS counted (key_id, operation_id, place);
  IF cardinality(held_ids) > 0 THEN
    INSERT INTO holds (operation_id, organization_id, operation, amount, space, key, expires_at)
    SELECT operation_id, p_organization, operation, amount, space, key, p_now + make_interval(secs => p_hold_seconds)
      FROM unnest(held_ids, held_operations, held_amounts, held_spaces, held_keys)
        AS held (operation_id, operation, amount, space, key);
  END IF;
  IF cardinality(record_ids) > 0 THEN
    INSERT INTO idempotency_records (organization_id, space, key, fingerprint, operation_id)
    SELECT p_organization, started.* FROM unnest(record_spaces, record_keys, record_fingerprints, record_ids) AS started
    ON CONFLICT (organization_id, space, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, operation_id = excluded.operation_id, response = NULL, expires_at = NULL;
  END IF;
END
$$;

-- Settles and admits many calls of one organization in one transaction; settlements first, for they only free credit.
-- Every row that a batch needs has an index that leads to it alone. The settings keep the planner, whose statistics are
-- old when the tables grow fast, from reading all rows of the organization instead.
CREATE FUNCTION commit_batch(
  p_organization text, p_settlements json, p_admissions json, p_hold_seconds double precision,
  p_default_per_minute integer, p_default_per_day integer, p_now timestamptz
) RETURNS SETOF batch_answer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF json_array_length(p_settlements) > 0 THEN
    RETURN QUERY SELECT * FROM settle_batch(p_organization, p_settlements, p_now);
  END IF;
  IF json_array_length(p_admissions) > 0 THEN
    RETURN QUERY SELECT * FROM admit_batch(
      p_organization, p_admissions, p_hold_seconds, p_default_per_minute, p_default_per_day, p_now
    );
  END IF;
END
$$;

-- Releases an organization's holds that nobody extended in time, and forgets the idempotency keys of their calls.
CREATE FUNCTION release_expired_holds(p_organization text, p_now timestamptz, OUT released bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM accounts WHERE organization_id = p_organization FOR UPDATE;
  WITH expired AS (
    DELETE FROM holds WHERE organization_id = p_organization AND expires_at <= p_now RETURNING *
  ), freed AS (
    SELECT count(*) AS holds, coalesce(sum(amount), 0) AS amount FROM expired
  ), updated AS (
    UPDATE accounts SET held = held - freed.amount FROM freed WHERE organization_id = p_organization
  ), forgotten AS (
    DELETE FROM idempotency_records r USING expired e
     WHERE r.organization_id = p_organization AND r.space = e.space AND r.key = e.key
       AND r.operation_id = e.operation_id
  )
  SELECT holds INTO released FROM freed;
END
$$;
