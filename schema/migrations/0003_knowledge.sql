-- Collections, their documents, and what search reads: chunks, embeddings and postings.
-- Documents and chunks are numbered per collection, and a number is never used twice.

-- The row lock of a collection puts its writers in line. `chunk_count` and `term_total` are the statistics that BM25
-- needs and that cannot be read off the postings of a query.
CREATE TABLE collections (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4096),
  next_document integer NOT NULL DEFAULT 0,
  next_chunk integer NOT NULL DEFAULT 0,
  chunk_count integer NOT NULL DEFAULT 0 CHECK (chunk_count >= 0),
  term_total bigint NOT NULL DEFAULT 0 CHECK (term_total >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (organization_id, name)
);

-- `id` is the caller's. `metadata` is json, not jsonb, which would refuse the NUL escape and reorder the caller's keys.
CREATE TABLE documents (
  organization_id text NOT NULL,
  collection_id integer NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  number integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  metadata json NOT NULL,
  content_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (collection_id, number),
  UNIQUE (collection_id, id)
);

-- Raw text, and the terms under which the chunk stands in `postings`.
CREATE TABLE chunks (
  organization_id text NOT NULL,
  collection_id integer NOT NULL,
  number integer NOT NULL,
  document integer NOT NULL,
  content text NOT NULL,
  terms integer[] NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (collection_id, number),
  FOREIGN KEY (collection_id, document) REFERENCES documents (collection_id, number) ON DELETE CASCADE
);
CREATE INDEX chunks_document ON chunks (collection_id, document);

-- Apart from the text, so that an exact scan reads vectors and nothing else. One column holds the vectors of all spaces;
-- a partial index on a cast, such as `((embedding::halfvec(384)) halfvec_cosine_ops) WHERE collection_id = 7`, can
-- serve a large collection.
CREATE TABLE embeddings (
  organization_id text NOT NULL,
  collection_id integer NOT NULL,
  chunk integer NOT NULL,
  document integer NOT NULL,
  embedding vector NOT NULL,
  PRIMARY KEY (collection_id, chunk),
  FOREIGN KEY (collection_id, chunk) REFERENCES chunks (collection_id, number) ON DELETE CASCADE
);

-- Which chunks a term occurs in: one row for each 1,024 consecutive chunk numbers, `block` being number >> 10. An entry
-- packs the number's low 10 bits, then 8 bits of term frequency, then 13 bits of chunk length. The number of a term's
-- entries is its document frequency, so that no statistic can drift from what is stored. Entries stay in the row
-- (at most 4 KiB), uncompressed, because each search reads some hundred rows.
CREATE TABLE postings (
  organization_id text NOT NULL,
  collection_id integer NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  term integer NOT NULL,
  block integer NOT NULL,
  entries integer[] STORAGE PLAIN NOT NULL,
  PRIMARY KEY (collection_id, term, block)
);

-- Removes documents with all that was made of them. The caller holds the collection's row lock.
CREATE FUNCTION remove_documents(p_collection integer, p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  numbers integer[];
BEGIN
  SELECT array_agg(number) INTO numbers FROM documents WHERE collection_id = p_collection AND id = ANY (p_ids);
  IF numbers IS NULL THEN
    RETURN;
  END IF;

  -- One mask per block, rather than a list per term, keeps this linear in what is removed.
  WITH gone AS (
    SELECT number >> 10 AS block, number & 1023 AS position, terms FROM chunks
     WHERE collection_id = p_collection AND document = ANY (numbers)
  ), masks AS (
    SELECT block, bit_or(set_bit(0::bit(1024), position, 1)) AS mask FROM gone GROUP BY block
  ), affected AS (
    SELECT DISTINCT term, block FROM gone, unnest(terms) AS term
  )
  UPDATE postings SET
    entries = ARRAY(SELECT entry FROM unnest(entries) AS entry WHERE get_bit(mask, entry & 1023) = 0)
  FROM affected JOIN masks USING (block)
  WHERE collection_id = p_collection AND postings.term = affected.term AND postings.block = affected.block;

  DELETE FROM postings USING (
    SELECT DISTINCT term, number >> 10 AS block FROM chunks, unnest(terms) AS term
     WHERE collection_id = p_collection AND document = ANY (numbers)
  ) AS affected
  WHERE collection_id = p_collection AND postings.term = affected.term AND postings.block = affected.block
    AND entries = '{}';

  UPDATE collections SET
    chunk_count = chunk_count - gone.chunks,
    term_total = term_total - gone.terms
  FROM (
    SELECT count(*) AS chunks, coalesce(sum(length), 0) AS terms FROM chunks
     WHERE collection_id = p_collection AND document = ANY (numbers)
  ) AS gone
  WHERE id = p_collection;

  DELETE FROM documents WHERE collection_id = p_collection AND number = ANY (numbers);
END
$$;
