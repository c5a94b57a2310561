-- The log: append in parallel, seal in one place (ADR 0001). Nothing here is ever updated or deleted but what says so.
create schema log;

create table log.stream (
  tenant_id  uuid not null,
  stream     text not null,
  version    bigint not null,
  subject_id uuid not null,
  closed     boolean not null default false, -- whose it is was forgotten as a whole: nothing is appended any more
  primary key (tenant_id, stream)
) with (fillfactor = 70);
create index stream_subject on log.stream (tenant_id, subject_id);

create table log.event (
  seq            bigint generated always as identity (cache 1), -- order of arrival, not the order readers follow
  tenant_id      uuid not null,
  subject_id     uuid not null,
  stream         text not null,
  version        bigint not null,
  event_id       uuid not null,
  command_id     uuid not null,
  ordinal        integer not null,
  type           text not null,
  schema_version smallint not null,
  occurred_at    timestamptz not null,
  recorded_at    timestamptz not null,
  envelope       bytea not null, -- canonical bytes (events/canon.py); the columns above repeat them for queries
  leaf           bytea not null check (octet_length(leaf) = 32),
  -- not led by the tenant, whose every reader asks for: a planner without statistics would take it for a look-up by id
  primary key (stream, tenant_id, version),
  unique (event_id),
  unique (command_id, ordinal)
);
create index event_tombstoned on log.event (tenant_id, stream, recorded_at) where type = 'tombstoned';
create unique index event_seq on log.event (seq);
-- what a person chose for all memories to come is few and read for every turn (projections/choices.py)
create index event_choice on log.event (tenant_id, stream, version)
  where type in ('consent_given', 'consent_withdrawn', 'suppression_asked');
-- what holds texts of working memory, which may rest on what is forgotten (projections/working.py)
create index event_working on log.event (tenant_id, subject_id, seq)
  where type in ('task_started', 'task_step', 'task_observed', 'task_error', 'task_constraint_changed',
    'summary_written');
-- vectors of another model are looked up by person (projections/index.py)
create index event_embedded on log.event (tenant_id, stream, version) where type = 'embedded';

create table log.body (
  event_id   uuid not null,
  part       text not null,
  tenant_id  uuid not null,
  subject_id uuid not null,
  key_id     uuid not null,
  ciphertext bytea not null,
  primary key (event_id, part)
);
create index body_key on log.body (key_id);

-- what a tombstone or an expiry names: memories, messages and data keys nobody may read again. The id of a person or of a
-- tenant covers all that is theirs.
create table log.fence (
  tenant_id  uuid not null,
  target     uuid not null,
  subject_id uuid not null,
  event_id   uuid not null,
  primary key (tenant_id, target)
);

create table log.unsealed (seq bigint primary key, leaf bytea not null) -- the sealer needs nothing else of an event
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create table log.sealed (position bigint primary key, seq bigint not null unique);
create table log.node (level smallint not null, index bigint not null, hash bytea not null, primary key (level, index));
create table log.head (
  one      boolean primary key default true check (one),
  size     bigint not null,
  frontier bytea[] not null,
  root     bytea not null
);
insert into log.head (size, frontier, root) values (0, '{}', sha256(''));

-- signed heads (C2SP tlog-checkpoint) and the notes that introduce each signing key; both also lie in the second place
create table log.checkpoint (
  size       bigint primary key check (size > 0),
  note       text not null,
  written_at timestamptz not null default clock_timestamp()
);
-- every checkpoint up to this size has reached the second place
create table log.copied (
  one  boolean primary key default true check (one),
  size bigint not null
);
insert into log.copied (size) values (0);
create table log.signing_key (
  number     integer primary key check (number >= 0),
  note       text not null,
  written_at timestamptz not null default clock_timestamp()
);

create function log.forbid_v1() returns trigger language plpgsql as $$
begin
  raise exception 'the log is append-only: % on %.% is refused', tg_op, tg_table_schema, tg_table_name
    using errcode = 'insufficient_privilege';
end $$;

do $$
declare name text;
begin
  foreach name in array array['event', 'sealed', 'node', 'fence', 'checkpoint', 'signing_key'] loop
    execute format('create trigger append_only before update or delete or truncate on log.%I
                    for each statement execute function log.forbid_v1()', name);
  end loop;
end $$;
create trigger append_only before update or truncate on log.body
  for each statement execute function log.forbid_v1();

create function log.guard_body_v1() returns trigger language plpgsql as $$
begin
  if not exists (
    select from log.fence
    where tenant_id = old.tenant_id and target in (old.key_id, old.subject_id, old.tenant_id)
  ) then
    raise exception 'body part of event % has no tombstone or expiry', old.event_id
      using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
create trigger only_fenced before delete on log.body for each row execute function log.guard_body_v1();

-- Append commands, sorted by (tenant, stream) so that two batches never deadlock.
-- c_*: one element a command; c_expected null means any version, 0 a new stream; c_count events of that command.
-- e_*: one element an event, in order; e_command is the 1-based index of its command; e_envelope lacks the trailer.
-- b_*: one element a body part; b_event is the 1-based index of its event.
-- Answers one row a command: appended | known | conflict | erased (whose stream it is was forgotten as a whole). A lost
-- version is an answer, never an error.
create function log.append_v1(
  c_command uuid[], c_tenant uuid[], c_stream text[], c_expected bigint[], c_count integer[],
  e_command integer[], e_event uuid[], e_ordinal integer[], e_subject uuid[], e_type text[], e_schema smallint[],
  e_occurred timestamptz[], e_envelope bytea[],
  b_event integer[], b_part text[], b_key uuid[], b_ciphertext bytea[]
) returns table (command integer, outcome text, first_version bigint, last_version bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  firsts bigint[]; -- what is known already, by command
  lasts bigint[];
  bases bigint[] := array_fill(null::bigint, array[cardinality(c_command)]);
  reached bigint;
  first_event integer := 1;
  subject uuid;
  shut boolean;
  stone record;
  twin integer;
  stamp timestamptz;
  micros bigint;
begin
  select array_agg(k.first order by c.n), array_agg(k.last order by c.n) into firsts, lasts
    from unnest(c_command) with ordinality as c(id, n)
    cross join lateral (
      select min(e.version) as first, max(e.version) as last from log.event e where e.command_id = c.id
    ) k;

  for i in 1 .. cardinality(c_command) loop
    command := i;
    subject := e_subject[first_event];
    first_event := first_event + c_count[i];
    first_version := firsts[i];
    last_version := lasts[i];
    if first_version is not null then
      outcome := 'known';
      return next;
      continue;
    end if;
    twin := array_position(c_command, c_command[i]);
    if twin < i and bases[twin] is not null then -- earlier in this very call, so not in the table yet
      outcome := 'known';
      first_version := bases[twin] + 1;
      last_version := bases[twin] + c_count[twin];
      return next;
      continue;
    end if;

    reached := null;
    if c_expected[i] is null then
      insert into log.stream as s values (c_tenant[i], c_stream[i], c_count[i], subject)
        on conflict (tenant_id, stream) do update set version = s.version + excluded.version where not s.closed
        returning s.version into reached;
    elsif c_expected[i] = 0 then
      insert into log.stream as s values (c_tenant[i], c_stream[i], c_count[i], subject)
        on conflict (tenant_id, stream) do nothing
        returning s.version into reached;
    else
      update log.stream s set version = s.version + c_count[i]
        where s.tenant_id = c_tenant[i] and s.stream = c_stream[i] and s.version = c_expected[i] and not s.closed
        returning s.version into reached;
    end if;

    -- a stream that is only beginning was not there to be closed
    if reached = c_count[i] and c_stream[i] not like 'receipts/%' then
      if exists (
        select from log.fence f where f.tenant_id = c_tenant[i] and f.target in (subject, c_tenant[i])
      ) then
        update log.stream s set version = 0, closed = true where s.tenant_id = c_tenant[i] and s.stream = c_stream[i];
        reached := null;
      end if;
    end if;

    -- a twin of this command may have committed while the row lock was awaited; it would have taken the expected version
    if reached is null or c_expected[i] is null then
      select min(e.version), max(e.version) into first_version, last_version
        from log.event e where e.command_id = c_command[i];
    end if;
    if first_version is not null then
      if reached is not null then
        update log.stream s set version = s.version - c_count[i]
          where s.tenant_id = c_tenant[i] and s.stream = c_stream[i];
      end if;
      outcome := 'known';
    elsif reached is null then
      first_version := null;
      select s.version, s.closed into last_version, shut
        from log.stream s where s.tenant_id = c_tenant[i] and s.stream = c_stream[i];
      outcome := case when shut then 'erased' else 'conflict' end;
    else
      outcome := 'appended';
      bases[i] := reached - c_count[i];
      first_version := bases[i] + 1;
      last_version := reached;
    end if;
    return next;
  end loop;

  stamp := clock_timestamp();
  micros := (extract(epoch from stamp) * 1000000)::bigint;

  with incoming as (
    select e.*, bases[e.command] + e.ordinal + 1 as version
    from unnest(e_command, e_event, e_ordinal, e_subject, e_type, e_schema, e_occurred, e_envelope)
      with ordinality as e(command, event_id, ordinal, subject_id, type, schema_version, occurred_at, envelope, n)
    where bases[e.command] is not null
  ), canonical as (
    select *, i.envelope || int8send(i.version) || int8send(micros) as bytes from incoming i
  ), added as (
    insert into log.event (tenant_id, subject_id, stream, version, event_id, command_id, ordinal, type, schema_version,
                           occurred_at, recorded_at, envelope, leaf)
    select c_tenant[c.command], c.subject_id, c_stream[c.command], c.version, c.event_id, c_command[c.command], c.ordinal,
           c.type, c.schema_version, c.occurred_at, stamp, c.bytes, sha256('\x00'::bytea || c.bytes)
    from canonical c order by c.n
    returning seq, leaf
  ), queued as (
    insert into log.unsealed select seq, leaf from added
  )
  insert into log.body (event_id, part, tenant_id, subject_id, key_id, ciphertext)
  select e_event[b.event], b.part, c_tenant[e_command[b.event]], e_subject[b.event], b.key_id, b.ciphertext
  from unnest(b_event, b_part, b_key, b_ciphertext) as b(event, part, key_id, ciphertext)
  where bases[e_command[b.event]] is not null;

  if e_type && array['tombstoned', 'expired'] then
    insert into log.fence (tenant_id, target, subject_id, event_id)
    select distinct on (c_tenant[e.command], t.target) c_tenant[e.command], t.target::uuid, e.subject_id, e.event_id
    from unnest(e_command, e_event, e_subject, e_type, e_envelope) as e(command, event_id, subject_id, type, envelope)
    cross join lateral (select convert_from(e.envelope, 'UTF8')::jsonb -> 'data' as doc) d
    cross join lateral jsonb_array_elements_text(
      (d.doc -> 'memories') || (d.doc -> 'messages') || (d.doc -> 'keys')
      || case d.doc ->> 'scope' when 'person' then jsonb_build_array(e.subject_id)
                                when 'tenant' then jsonb_build_array(c_tenant[e.command]) else '[]' end) as t(target)
    where e.type in ('tombstoned', 'expired') and bases[e.command] is not null
    on conflict do nothing;

    -- of a person or a tenant nothing is appended any more but receipts; whoever is appending now is waited for
    for stone in
      select c_tenant[e.command] as tenant_id, e.subject_id,
             convert_from(e.envelope, 'UTF8')::jsonb -> 'data' ->> 'scope' as scope
      from unnest(e_command, e_subject, e_type, e_envelope) as e(command, subject_id, type, envelope)
      where e.type = 'tombstoned' and bases[e.command] is not null
    loop
      if stone.scope = 'person' then
        insert into log.stream values (stone.tenant_id, 'memory/' || stone.subject_id, 0, stone.subject_id, true),
                                      (stone.tenant_id, 'turns/' || stone.subject_id, 0, stone.subject_id, true)
          on conflict (tenant_id, stream) do nothing;
        perform from log.stream s where s.tenant_id = stone.tenant_id and s.subject_id = stone.subject_id
          order by s.stream for update;
        update log.stream s set closed = true
          where s.tenant_id = stone.tenant_id and s.subject_id = stone.subject_id and s.stream not like 'receipts/%';
      elsif stone.scope = 'tenant' then
        perform from log.stream s where s.tenant_id = stone.tenant_id order by s.stream for update;
        update log.stream s set closed = true
          where s.tenant_id = stone.tenant_id and s.stream not like 'receipts/%';
      end if;
    end loop;
  end if;
end $$;

-- Hold a stream until the end of the transaction, so that a forget sees every version there is and misses none; says whether
-- the stream exists.
create function log.lock_stream_v1(p_tenant uuid, p_stream text) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from log.stream where tenant_id = p_tenant and stream = p_stream for update)
$$;

-- Remove the bodies whose keys the tombstone (or expiry) p_event names; says how many parts went.
create function log.remove_bodies_v1(p_event uuid) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with named as (
    select e.tenant_id, k.key_id::uuid
    from log.event e
    cross join lateral jsonb_array_elements_text(
      convert_from(substring(e.envelope from 1 for octet_length(e.envelope) - 16), 'UTF8')::jsonb -> 'data' -> 'keys'
    ) as k(key_id)
    where e.event_id = p_event and e.type in ('tombstoned', 'expired')
  ), removed as (
    delete from log.body b using named n where b.key_id = n.key_id and b.tenant_id = n.tenant_id returning 1
  )
  select count(*) from removed
$$;

-- Remove every body of one person whom the tombstone p_event names, alone or with the whole tenant; says how many parts went.
create function log.remove_person_v1(p_event uuid, p_subject uuid) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with named as (
    select e.tenant_id from log.event e
    join log.fence f on f.tenant_id = e.tenant_id and f.target in (p_subject, e.tenant_id)
    where e.event_id = p_event and e.type = 'tombstoned'
  ), removed as (
    delete from log.body b using named n, log.stream s, log.event e
    where s.tenant_id = n.tenant_id and s.subject_id = p_subject
      and e.tenant_id = s.tenant_id and e.stream = s.stream and b.event_id = e.event_id
    returning 1
  )
  select count(*) from removed
$$;

-- ── who may do what ─────────────────────────────────────────────────────────────────────────────────────────────────
do $$
declare name text;
begin
  foreach name in array array['appender', 'reader', 'sealer', 'projector', 'eraser', 'prober'] loop
    if not exists (select from pg_roles where rolname = 'cenotaph_' || name) then
      execute format('create role %I login', 'cenotaph_' || name);
    end if;
  end loop;
end $$;

revoke all on all functions in schema log from public;
grant usage on schema log to cenotaph_appender, cenotaph_reader, cenotaph_sealer, cenotaph_projector, cenotaph_eraser,
  cenotaph_prober;
grant execute on function log.append_v1, log.lock_stream_v1 to cenotaph_appender;
grant execute on function log.append_v1 to cenotaph_eraser;
grant execute on function log.remove_bodies_v1, log.remove_person_v1 to cenotaph_eraser;
grant select on log.stream to cenotaph_eraser, cenotaph_prober;
grant select on log.event, log.body, log.fence, log.sealed, log.head to cenotaph_reader, cenotaph_projector,
  cenotaph_eraser, cenotaph_prober;
grant select on log.node, log.unsealed to cenotaph_prober;
grant select on log.event, log.sealed, log.node, log.head, log.unsealed to cenotaph_sealer;
grant update on log.head to cenotaph_sealer;
grant insert on log.sealed, log.node to cenotaph_sealer;
grant select, insert on log.checkpoint, log.signing_key to cenotaph_sealer;
grant select, update on log.copied to cenotaph_sealer;
grant select on log.copied to cenotaph_reader;
grant select on log.checkpoint, log.signing_key to cenotaph_prober;
grant select (size, written_at) on log.checkpoint to cenotaph_reader;
grant delete on log.unsealed to cenotaph_sealer;

-- the second wall: a reader sees one person of one tenant, and a missing scope is an error, not an empty filter
do $$
declare name text;
begin
  foreach name in array array['event', 'body', 'fence'] loop
    execute format('alter table log.%I enable row level security', name);
    execute format('alter table log.%I force row level security', name);
    execute format('create policy owner on log.%I to %I using (true) with check (true)', name, current_user);
    execute format('create policy system on log.%I for select to cenotaph_sealer, cenotaph_projector, cenotaph_eraser,
      cenotaph_prober using (true)', name);
    execute format('create policy reader on log.%I for select to cenotaph_reader using (
      tenant_id = current_setting(''cenotaph.tenant'')::uuid and subject_id = current_setting(''cenotaph.subject'')::uuid)',
      name);
  end loop;
end $$;
-- that a whole tenant was forgotten concerns everybody in it
create policy whole on log.fence for select to cenotaph_reader
  using (tenant_id = current_setting('cenotaph.tenant')::uuid and target = tenant_id);
