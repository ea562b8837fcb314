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
-- The chunks of a document have consecutive numbers from `first_chunk` on.
CREATE TABLE documents (
  organization_id text NOT NULL,
  collection_id integer NOT NULL REFERENCES collections (id),
  number integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  metadata json NOT NULL,
  content_hash text NOT NULL,
  first_chunk integer NOT NULL,
  chunk_count integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (collection_id, number),
  UNIQUE (collection_id, id)
);

-- The tables below have no foreign keys, which would cost a look-up for each of the hundred postings of a chunk.
-- `remove_documents` takes care of them. Each has its primary key as its only index, so that the planner has no worse
-- one to choose while it has no statistics of a new collection.

-- Raw text, and the terms under which the chunk stands in `postings`.
CREATE TABLE chunks (
  organization_id text NOT NULL,
  collection_id integer NOT NULL,
  number integer NOT NULL,
  document integer NOT NULL,
  content text NOT NULL,
  terms integer[] NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (collection_id, number)
);

-- Apart from the text, so that an exact scan reads vectors and nothing else. One column holds the vectors of all spaces;
-- a partial index on a cast, such as `((embedding::halfvec(384)) halfvec_cosine_ops) WHERE collection_id = 7`, can
-- serve a large collection.
CREATE TABLE embeddings (
  organization_id text NOT NULL,
  collection_id integer NOT NULL,
  chunk integer NOT NULL,
  document integer NOT NULL,
  embedding vector NOT NULL,
  PRIMARY KEY (collection_id, chunk)
);

-- Which chunks a term occurs in: one row for each 1,024 consecutive chunk numbers, `block` being number >> 10. An entry
-- packs the number's low 10 bits, then 8 bits of term frequency, then 13 bits of chunk length. The number of a term's
-- entries is its document frequency, so that no statistic can drift from what is stored. Entries stay in the row
-- (at most 4 KiB), uncompressed, because each search reads some hundred rows.
CREATE TABLE postings (
  organization_id text NOT NULL,
  collection_id integer NOT NULL,
  term integer NOT NULL,
  block integer NOT NULL,
  entries integer[] STORAGE PLAIN NOT NULL,
  PRIMARY KEY (collection_id, term, block)
);

-- Removes documents with all that was made of them. The caller holds the collection's row lock. Each statement is
-- planned for its own values: a plan for any list of numbers would search long lists one by one.
CREATE FUNCTION remove_documents(p_collection integer, p_ids text[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  documents_gone integer[];
  chunks_gone integer[];
  gone record;
BEGIN
  SELECT array_agg(number) INTO documents_gone FROM documents WHERE collection_id = p_collection AND id = ANY (p_ids);
  IF documents_gone IS NULL THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(chunk), '{}') INTO chunks_gone
    FROM documents, generate_series(first_chunk, first_chunk + chunk_count - 1) AS chunk
   WHERE collection_id = p_collection AND number = ANY (documents_gone);

  -- Block by block, and by a mask of positions, so that the time is linear in what is removed.
  FOR gone IN
    SELECT number >> 10 AS block, bit_or(set_bit(0::bit(1024), number & 1023, 1)) AS mask, array_agg(DISTINCT term) AS terms
      FROM chunks, unnest(chunks.terms) AS term
     WHERE collection_id = p_collection AND number = ANY (chunks_gone)
     GROUP BY number >> 10
  LOOP
    UPDATE postings SET
      entries = ARRAY(SELECT entry FROM unnest(entries) AS entry WHERE get_bit(gone.mask, entry & 1023) = 0)
    WHERE collection_id = p_collection AND term = ANY (gone.terms) AND block = gone.block;
    DELETE FROM postings
     WHERE collection_id = p_collection AND term = ANY (gone.terms) AND block = gone.block AND entries = '{}';
  END LOOP;

  UPDATE collections SET
    chunk_count = chunk_count - cardinality(chunks_gone),
    term_total = term_total - (
      SELECT coalesce(sum(length), 0) FROM chunks WHERE collection_id = p_collection AND number = ANY (chunks_gone)
    )
  WHERE id = p_collection;

  DELETE FROM embeddings WHERE collection_id = p_collection AND chunk = ANY (chunks_gone);
  DELETE FROM chunks WHERE collection_id = p_collection AND number = ANY (chunks_gone);
  DELETE FROM documents WHERE collection_id = p_collection AND number = ANY (documents_gone);
END
$$;
