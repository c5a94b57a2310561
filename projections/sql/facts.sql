-- facts: which memory versions there are and which is current. No content: bodies stay sealed in log.body (ADR 0004).
create schema {schema};

create table {schema}.subject (
  tenant_id  uuid not null,
  subject_id uuid not null,
  applied    bigint not null, -- last version of the person's memory stream that is in this read model
  primary key (tenant_id, subject_id)
);

create table {schema}.memory (
  tenant_id      uuid not null,
  subject_id     uuid not null,
  memory_id      uuid not null,
  version        integer not null,
  status         text not null
                 check (status in ('current', 'in_conflict', 'superseded', 'merged', 'held', 'expired', 'forgotten')),
  event_id       uuid not null,
  kind           text not null,
  confidence     integer not null, -- thousandths
  importance     integer not null, -- thousandths
  reinforced     integer not null,
  source_forgotten boolean not null,
  gate           text,
  reason         text,
  cites          uuid[] not null,
  turn_id        uuid not null,
  tag            bytea, -- keyed digest of (scope, key); null once forgotten
  occurred_at    timestamptz not null,
  recorded_at    timestamptz not null,
  held_until     timestamptz,
  verified_at    timestamptz not null, -- when the person last said it
  used_at        timestamptz, -- when it was last noted that an agent was given it
  lease_ended_at timestamptz, -- when it was noted that its lease had run out
  asked          boolean not null, -- the person asked to remember it
  cold           boolean not null, -- no row in the vector index
  suspended      boolean not null, -- the person set it aside
  project        uuid, -- for readers in this project, and the person; null: private
  task           uuid, -- for this task alone
  assistant      uuid, -- for this assistant alone
  purpose        uuid, -- for readers for this purpose alone
  moved_on       boolean not null, -- the person moved the memory since: theirs alone, which no credential with a reach is
  primary key (memory_id, tenant_id, version)
);
-- led by what is asked for, not by the person, whom a planner without statistics takes for few rows
create index memory_living on {schema}.memory (tag, subject_id, tenant_id) where status in ('current', 'in_conflict', 'held');
create index memory_held on {schema}.memory (held_until) where status = 'held';
create index memory_recent on {schema}.memory (tenant_id, subject_id, recorded_at desc, memory_id);
create index memory_turn on {schema}.memory (turn_id, tenant_id) where status in ('current', 'in_conflict');
create index memory_standing on {schema}.memory (tenant_id, subject_id, importance desc, memory_id)
  where status in ('current', 'in_conflict') and kind in ('format', 'profile', 'procedure');
create index memory_cites on {schema}.memory using gin (cites);

do $$
declare name text;
begin
  foreach name in array array['subject', 'memory'] loop
    execute format('alter table {schema}.%I enable row level security', name);
    execute format('alter table {schema}.%I force row level security', name);
    execute format('create policy owner on {schema}.%I to %I using (true) with check (true)', name, current_user);
    execute format('create policy system on {schema}.%I to cenotaph_projector, cenotaph_prober, cenotaph_eraser
      using (true) with check (true)', name);
    execute format('create policy reader on {schema}.%I for select to cenotaph_reader using (
      tenant_id = current_setting(''cenotaph.tenant'')::uuid and subject_id = current_setting(''cenotaph.subject'')::uuid)',
      name);
  end loop;
end $$;
-- and no farther than the credential reaches: the settings are asked once a query, not once a row
create policy reach on {schema}.memory as restrictive for select to cenotaph_reader using (
  (select current_setting('cenotaph.project')::uuid) in ('00000000-0000-0000-0000-000000000000', project)
  and (task is null or (select current_setting('cenotaph.task')::uuid) in ('00000000-0000-0000-0000-000000000000', task))
  and (assistant is null or (select current_setting('cenotaph.assistant')::uuid) in ('00000000-0000-0000-0000-000000000000', assistant))
  and (purpose is null or (select current_setting('cenotaph.purpose')::uuid) in ('00000000-0000-0000-0000-000000000000', purpose))
  and (not moved_on or (select current_setting('cenotaph.task')::uuid) = '00000000-0000-0000-0000-000000000000'));
grant usage on schema {schema} to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on all tables in schema {schema} to cenotaph_reader, cenotaph_prober, cenotaph_eraser;
grant select, insert, update, delete on all tables in schema {schema} to cenotaph_projector;
grant maintain on all tables in schema {schema} to cenotaph_eraser;
