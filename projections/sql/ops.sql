-- What is not memory but belongs to running it: keys of callers, reads, erasures under way, dead letters.
create schema ops;

create table ops.api_key (
  key_id     text primary key,
  tenant_id  uuid not null,
  hash       bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  system     text, -- the business system whose credential it is (R14); null: the tenant's own
  owns       text[] not null default '{}', -- the semantic keys that it is the authority for
  check (system is not null or owns = '{}')
);
create unique index one_key_of_a_system on ops.api_key (tenant_id, system);

-- one row a read of memories: which it gave away, and how that came about; content-free, serves traces, usage and the read
-- audit (R36). `trace` has one entry for each of `candidates`, in their order (services/recall/trace.py).
create table ops.read (
  read_id    uuid primary key,
  tenant_id  uuid not null,
  subject_id uuid not null,
  path       text not null default 'context'
             check (path in ('context', 'search', 'list', 'memory', 'explain', 'inbox', 'preview')),
  role       text not null,
  memories   uuid[] not null, -- given away, in the order of the answer
  versions   integer[] not null,
  candidates uuid[] not null default '{}', -- considered, the most relevant first; nil where it was forgotten
  trace      json, -- null where nothing was ranked, or its time is over
  at         timestamptz not null default clock_timestamp(),
  forgotten  boolean not null default false, -- something that went into it was forgotten; its id is taken out
  project    uuid, -- how far the reader reached
  task       uuid,
  assistant  uuid,
  purpose    uuid
);
create index read_memories on ops.read using gin (memories);
create index read_person on ops.read (tenant_id, subject_id, at desc, read_id);
create index read_age on ops.read (at, read_id);

-- Record a read; answers which of its memories are fenced: these were not recorded and must not be given away. Whoever erases
-- holds the person's reads first, so what is recorded later sees the fence, and what was recorded before is seen. Binds its
-- transaction to the person itself, so that a read that has nothing else to ask costs one round trip.
create function ops.record_read_v1(
  p_read uuid, p_bounds uuid[], p_path text, p_role text, p_memories uuid[], p_versions integer[],
  p_candidates uuid[], p_trace json
) returns uuid[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  p_tenant constant uuid := p_bounds[1];
  p_subject constant uuid := p_bounds[2];
  stones uuid[];
begin
  perform read_model.bind_v1(p_bounds);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_subject::text, 0));
  -- a statement of its own, so that it sees what was committed while the lock was waited for
  select coalesce(array_agg(target), '{}') into stones from log.fence
    where tenant_id = p_tenant and target = any(p_memories || p_candidates);
  if exists (select from log.fence where tenant_id = p_tenant and target in (p_subject, p_tenant)) then
    return p_memories || p_candidates; -- all of the person was forgotten: nothing is recorded
  end if;
  insert into ops.read (read_id, tenant_id, subject_id, path, role, memories, versions, candidates, trace, forgotten,
                        project, task, assistant, purpose)
  select p_read, p_tenant, p_subject, p_path, p_role,
         coalesce((select array_agg(m order by n) from unnest(p_memories) with ordinality as t(m, n)
                   where m <> all(stones)), '{}'),
         coalesce((select array_agg(v order by n) from unnest(p_memories, p_versions) with ordinality as t(m, v, n)
                   where m <> all(stones)), '{}'),
         coalesce((select array_agg(case when m = any(stones) then '00000000-0000-0000-0000-000000000000' else m end
                                    order by n) from unnest(p_candidates) with ordinality as t(m, n)), '{}'),
         p_trace, p_memories && stones,
         nullif(current_setting('cenotaph.project')::uuid, '00000000-0000-0000-0000-000000000000'),
         nullif(nullif(current_setting('cenotaph.task')::uuid, '00000000-0000-0000-0000-000000000000'), 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
         nullif(nullif(current_setting('cenotaph.assistant')::uuid, '00000000-0000-0000-0000-000000000000'), 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
         nullif(nullif(current_setting('cenotaph.purpose')::uuid, '00000000-0000-0000-0000-000000000000'), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  return stones;
end $$;

-- Hold a person's reads until the end of the transaction.
create function ops.lock_reads_v1(p_subject uuid) returns void language sql set search_path = pg_catalog, pg_temp as $$
  select pg_advisory_xact_lock(hashtextextended(p_subject::text, 0))
$$;

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
  prepared_at   timestamptz, -- when they were sealed: the key lives for a day at most
  unasked       text check (unasked in ('unread', 'expired', 'restored')), -- why nobody can ask for what was said
  cleared_at    timestamptz, -- behind its end: the probes' key is gone, and with a tenant what was kept for asking
  layers        jsonb not null default '[]',
  negatives     jsonb not null default '{}',
  attempts      integer not null default 0,
  tried_at      timestamptz,
  statement     text,
  signature     text,
  signing_key   text,
  purged_at     timestamptz, -- the second receipt: its bytes are gone too
  close_asked_at timestamptz, -- or the person asked to close it unproven
  closed_at     timestamptz,  -- and that is signed
  purge_layers  jsonb not null default '[]',
  second_statement text,
  second_signature text
);
create index erasure_pending on ops.erasure (requested_at) where propagated_at is null;
create index erasure_unpurged on ops.erasure (propagated_at) where purged_at is null and closed_at is null;

-- up to which moment what was removed from a layer is out of its files
create table ops.reclaimed (
  layer   text primary key,
  covered timestamptz not null,
  at      timestamptz not null default clock_timestamp()
);
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

-- layers of other applications; their secrets lie in the folder of key files (R47)
create table ops.layer (
  tenant_id uuid not null,
  name      text not null,
  url       text,  -- its endpoint, if it has one
  store     jsonb, -- how its store is looked into, if it can be
  attested  boolean not null,
  added_at  timestamptz not null,
  primary key (tenant_id, name)
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

-- backups that were begun (ADR 0017): whatever lived between began_at and ended_at may lie in one, sealed
create table ops.backup (
  backup_id         uuid primary key,
  log_at            text not null, -- the folder, as the machine that wrote it names it
  keys_at           text not null, -- the folder of the keys, which is kept apart
  began_at          timestamptz not null default clock_timestamp(),
  ended_at          timestamptz, -- null: never finished; what there is of it holds bytes all the same
  size              bigint,
  keys_die_by       timestamptz not null,
  keys_destroyed_at timestamptz,
  dropped_at        timestamptz
);

-- files that left: one row each, and which memories they hold; no content (R46)
create table ops.export (
  export_id  uuid primary key,
  tenant_id  uuid not null,
  subject_id uuid, -- null: a tenant's, over the persons who agreed
  purpose    text not null check (purpose in ('download', 'training', 'evaluation')),
  at         timestamptz not null,
  digest     text -- SHA-256 of its lines; null until the last one left
);
create index export_owner on ops.export (tenant_id, subject_id, at desc);

create table ops.exported (
  export_id  uuid not null,
  tenant_id  uuid not null,
  subject_id uuid not null,
  memory_id  uuid not null,
  version    integer not null, -- 0: a candidate that was held
  barred_at  timestamptz, -- when it was forgotten: no later export holds it
  primary key (export_id, memory_id, version)
);
create index exported_memory on ops.exported (memory_id);

-- a tenant without a person ('tenant', which is an error everywhere else) sees its own exports and what they hold, and nothing else in the database
do $$
declare name text;
begin
  foreach name in array array['export', 'exported'] loop
    execute format('alter table ops.%I enable row level security', name);
    execute format('alter table ops.%I force row level security', name);
    execute format('create policy owner on ops.%I to %I using (true) with check (true)', name, current_user);
    execute format('create policy system on ops.%I to cenotaph_eraser, cenotaph_prober using (true) with check (true)', name);
  end loop;
end $$;
create policy reader on ops.export to cenotaph_reader using (
  tenant_id = current_setting('cenotaph.tenant')::uuid
  and case current_setting('cenotaph.subject') when 'tenant' then subject_id is null
      else subject_id = current_setting('cenotaph.subject')::uuid end);
create policy reader on ops.exported to cenotaph_reader using (
  tenant_id = current_setting('cenotaph.tenant')::uuid
  and case current_setting('cenotaph.subject')
      when 'tenant' then exists (select from ops.export e where e.export_id = exported.export_id)
      else subject_id = current_setting('cenotaph.subject')::uuid end);

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
create policy reach on ops.read as restrictive to cenotaph_reader using (
  (select current_setting('cenotaph.project')::uuid) in ('00000000-0000-0000-0000-000000000000', project)
  and (task is null or (select current_setting('cenotaph.task')::uuid) in ('00000000-0000-0000-0000-000000000000', task))
  and (assistant is null or (select current_setting('cenotaph.assistant')::uuid) in ('00000000-0000-0000-0000-000000000000', assistant))
  and (purpose is null or (select current_setting('cenotaph.purpose')::uuid) in ('00000000-0000-0000-0000-000000000000', purpose)));
-- Count what is a person's, or a whole tenant's, as far as the read models have followed: numbers only.
create function ops.count_whole_v1(p_tenant uuid, p_subject uuid)
returns table (people bigint, memories bigint, turns bigint, messages bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select (select count(distinct s.subject_id) from log.stream s where s.tenant_id = p_tenant and not s.closed
            and s.subject_id <> '00000000-0000-0000-0000-000000000000' and s.stream not like 'receipts/%'
            and (p_subject is null or s.subject_id = p_subject)),
         (select count(distinct m.memory_id) from facts.memory m where m.tenant_id = p_tenant
            and (p_subject is null or m.subject_id = p_subject) and m.status not in ('forgotten', 'expired')),
         (select count(*) from sessions.turn t
            where t.tenant_id = p_tenant and (p_subject is null or t.subject_id = p_subject)),
         (select count(*) from sessions.message m
            where m.tenant_id = p_tenant and (p_subject is null or m.subject_id = p_subject) and not m.forgotten)
$$;
revoke all on function ops.count_whole_v1 from public;
grant execute on function ops.count_whole_v1 to cenotaph_reader;

-- When the oldest transaction began that may still see removed rows; now, where there is none; null where our owner may not
-- see those of others: who is no superuser is to be a member of pg_read_all_stats.
create function ops.oldest_transaction_v1() returns timestamptz
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select least(clock_timestamp(), (select min(xact_start) from pg_stat_activity
    where pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)),
    (select min(prepared) from pg_prepared_xacts))
  where pg_has_role(current_user, 'pg_read_all_stats', 'usage')
$$;
-- Count the deletions that are not proven yet, and since when: for whoever watches.
create function ops.count_erasures_v1()
returns table (pending bigint, pending_since timestamptz, unpurged bigint, unpurged_since timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) filter (where e.propagated_at is null), min(e.requested_at) filter (where e.propagated_at is null),
         count(*) filter (where e.propagated_at is not null), min(e.propagated_at)
  from ops.erasure e where (e.propagated_at is null or e.purged_at is null) and e.closed_at is null
$$;
-- When the last first receipt was signed that still waits for its second: up to there files are to be rewritten.
create function ops.purge_wanted_v1() returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select max(propagated_at) from ops.erasure where purged_at is null and closed_at is null
$$;
-- Name the people whose rows may lie in files that were last rewritten at p_covered. Whoever has no first receipt yet is among
-- them: it may be signed before this is committed.
create function ops.purge_wanted_people_v1(p_covered timestamptz) returns table (tenant_id uuid, subject_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select distinct e.tenant_id, s.subject_id from ops.erasure e join log.stream s on s.tenant_id = e.tenant_id
    and (s.subject_id = e.subject_id or e.subject_id = '00000000-0000-0000-0000-000000000000')
  where e.purged_at is null and (e.propagated_at is null or e.propagated_at > coalesce(p_covered, '-infinity'))
    and s.subject_id <> '00000000-0000-0000-0000-000000000000'
$$;
revoke all on function ops.oldest_transaction_v1, ops.count_erasures_v1, ops.purge_wanted_v1, ops.purge_wanted_people_v1
  from public;
grant execute on function ops.purge_wanted_v1 to cenotaph_eraser, cenotaph_projector;
grant execute on function ops.purge_wanted_people_v1 to cenotaph_projector;
grant execute on function ops.oldest_transaction_v1 to cenotaph_eraser;
grant execute on function ops.count_erasures_v1 to cenotaph_reader;
grant select, insert, update on ops.reclaimed to cenotaph_eraser, cenotaph_projector;
grant maintain on all tables in schema ops to cenotaph_eraser;
grant maintain on log.body, log.stream, log.fence to cenotaph_eraser;

grant usage on schema ops to cenotaph_reader, cenotaph_appender, cenotaph_projector, cenotaph_eraser, cenotaph_prober;
grant select on ops.api_key to cenotaph_reader;
grant select (tenant_id) on ops.api_key to cenotaph_eraser, cenotaph_prober;
grant delete on ops.api_key to cenotaph_eraser;
grant select, insert on ops.read, ops.locating to cenotaph_reader;
revoke all on all functions in schema ops from public;
grant execute on function ops.record_read_v1 to cenotaph_reader;
grant execute on function ops.lock_reads_v1 to cenotaph_eraser;
grant select, update (close_asked_at) on ops.erasure to cenotaph_reader;
grant select, update, delete on ops.read, ops.locating to cenotaph_eraser;
grant select, insert on ops.export, ops.exported to cenotaph_reader;
grant update (digest) on ops.export to cenotaph_reader;
grant select, delete on ops.layer to cenotaph_eraser;
grant select on ops.exported to cenotaph_eraser, cenotaph_prober;
grant update (barred_at) on ops.exported to cenotaph_eraser;
grant select, insert, update on ops.erasure to cenotaph_eraser;
grant select, insert, delete on ops.dead_letter to cenotaph_eraser;
grant insert, select (stream, entry_id) on ops.dead_letter to cenotaph_appender; -- so that parking twice keeps one
grant select (stream, position) on ops.dead_letter to cenotaph_projector; -- the sweeper passes parked turns by
grant select on ops.read, ops.erasure, ops.dead_letter, ops.locating to cenotaph_prober;
grant select on ops.backup to cenotaph_prober, cenotaph_eraser;
grant update (keys_destroyed_at) on ops.backup to cenotaph_eraser;
