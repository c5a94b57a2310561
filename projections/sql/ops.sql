-- What is not memory but belongs to running it: keys of callers, reads, erasures under way, dead letters.
create schema ops;

create table ops.api_key (
  key_id     text primary key,
  tenant_id  uuid not null,
  hash       bytea not null,
  created_at timestamptz not null default clock_timestamp()
);

-- one row a context or search: which memories it gave away; content-free, serves traces, usage and the read audit (R36)
create table ops.read (
  read_id    uuid primary key,
  tenant_id  uuid not null,
  subject_id uuid not null,
  path       text not null default 'context' check (path in ('context', 'search')),
  role       text not null,
  memories   uuid[] not null,
  versions   integer[] not null,
  at         timestamptz not null default clock_timestamp(),
  forgotten  boolean not null default false -- something that went into it was forgotten; its id is taken out
);
create index read_memories on ops.read using gin (memories);

-- one row a tombstone: how far its erasure is
create table ops.erasure (
  tombstone     uuid primary key,
  tenant_id     uuid not null,
  subject_id    uuid not null,
  memory_id     uuid, -- the first of what goes, null where no memory does
  requested_at  timestamptz not null,
  destroyed_at  timestamptz,
  propagated_at timestamptz,
  probe_key     uuid,   -- data key of the sealed probe; gone with the receipt
  probe         bytea,  -- sealed probe inputs, null where none could be prepared
  layers        jsonb not null default '[]',
  negatives     jsonb not null default '{}',
  attempts      integer not null default 0,
  tried_at      timestamptz,
  statement     text,
  signature     text,
  signing_key   text
);
create index erasure_pending on ops.erasure (requested_at) where propagated_at is null;
create index erasure_person on ops.erasure (tenant_id, subject_id, requested_at desc);

-- messages that could not be handled: content sealed under a key of their own, secrets replaced before
create table ops.dead_letter (
  letter_id  uuid primary key,
  tenant_id  uuid,
  subject_id uuid,
  stream     text not null,
  entry_id   text not null,
  reason     text not null,
  deliveries integer not null,
  key_id     uuid,
  ciphertext bytea,
  position   bigint, -- what a job was about; such a letter holds no content
  at         timestamptz not null default clock_timestamp(),
  unique (stream, entry_id)
);

-- who asks where a memory is: ids and counts; answered by the worker that may look everywhere, gone after a minute
create table ops.locating (
  request_id  uuid primary key,
  tenant_id   uuid not null,
  subject_id  uuid not null,
  memory_id   uuid not null,
  asked_at    timestamptz not null default clock_timestamp(),
  answered_at timestamptz,
  locations   jsonb -- null where this person never had such a memory
);

do $$
declare name text;
begin
  foreach name in array array['read', 'erasure', 'locating'] loop
    execute format('alter table ops.%I enable row level security', name);
    execute format('alter table ops.%I force row level security', name);
    execute format('create policy owner on ops.%I to %I using (true) with check (true)', name, current_user);
    execute format('create policy system on ops.%I to cenotaph_eraser, cenotaph_prober using (true) with check (true)', name);
    execute format('create policy reader on ops.%I to cenotaph_reader using (
      tenant_id = current_setting(''cenotaph.tenant'')::uuid and subject_id = current_setting(''cenotaph.subject'')::uuid)
      with check (
      tenant_id = current_setting(''cenotaph.tenant'')::uuid and subject_id = current_setting(''cenotaph.subject'')::uuid)',
      name);
  end loop;
end $$;
grant usage on schema ops to cenotaph_reader, cenotaph_appender, cenotaph_projector, cenotaph_eraser, cenotaph_prober;
grant select on ops.api_key to cenotaph_reader;
grant select, insert on ops.read, ops.locating to cenotaph_reader;
grant select on ops.erasure to cenotaph_reader;
grant select, update on ops.read to cenotaph_eraser;
grant select, update, delete on ops.locating to cenotaph_eraser;
grant select, insert, update on ops.erasure to cenotaph_eraser;
grant select, insert, delete on ops.dead_letter to cenotaph_eraser;
grant insert, select (stream, entry_id) on ops.dead_letter to cenotaph_appender; -- so that parking twice keeps one
grant select (stream, position) on ops.dead_letter to cenotaph_projector; -- the sweeper passes parked turns by
grant select on ops.read, ops.erasure, ops.dead_letter to cenotaph_prober;
