-- tasks: the state of each task without its texts, which stay sealed in log.body; items go when the task is over.
create schema {schema};

create table {schema}.task (
  tenant_id  uuid not null,
  subject_id uuid not null,
  task_id    uuid not null,
  series_id  uuid not null,
  round      integer not null,
  status     text not null,
  version    bigint not null,
  errors     integer not null,
  budget     jsonb not null,
  started_at timestamptz not null,
  changed_at timestamptz not null,
  expires_at timestamptz not null,
  event_id   uuid not null,
  turn_id    uuid, -- the turn that closed it
  way        text, -- keyed digest of the steps that were done
  project    uuid, -- for which readers it was begun, as in facts
  assistant  uuid,
  purpose    uuid,
  primary key (tenant_id, task_id)
);
create index task_recent on {schema}.task (tenant_id, subject_id, started_at desc, task_id);
create index task_series on {schema}.task (tenant_id, subject_id, series_id, round desc);
create index task_due on {schema}.task (expires_at) where status = 'running';

create table {schema}.item (
  tenant_id  uuid not null,
  subject_id uuid not null,
  task_id    uuid not null,
  item_id    uuid not null,
  ordinal    integer not null,
  slot       text not null,
  standing   text not null,
  memories   uuid[] not null, -- what it rests on
  messages   uuid[] not null,
  event_id   uuid not null,
  key_id     uuid not null,
  version    bigint not null,
  gone       boolean not null, -- its text was forgotten
  primary key (tenant_id, task_id, item_id)
);
create index item_key on {schema}.item (key_id);
create index item_person on {schema}.item (tenant_id, subject_id);

do $$
declare name text;
begin
  foreach name in array array['task', 'item'] loop
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
-- a credential of one task reads that one; any other all that its project, assistant and purpose have
create policy reach on {schema}.task as restrictive for select to cenotaph_reader using (
  (select current_setting('cenotaph.project')::uuid) in ('00000000-0000-0000-0000-000000000000', project)
  and (select current_setting('cenotaph.task')::uuid) in ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', task_id)
  and (assistant is null or (select current_setting('cenotaph.assistant')::uuid) in ('00000000-0000-0000-0000-000000000000', assistant))
  and (purpose is null or (select current_setting('cenotaph.purpose')::uuid) in ('00000000-0000-0000-0000-000000000000', purpose)));
create policy reach on {schema}.item as restrictive for select to cenotaph_reader using (
  exists (select from {schema}.task t where t.task_id = item.task_id and t.tenant_id = item.tenant_id));
grant usage on schema {schema} to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on all tables in schema {schema} to cenotaph_reader, cenotaph_prober, cenotaph_eraser;
grant select, insert, update, delete on all tables in schema {schema} to cenotaph_projector;
grant maintain on all tables in schema {schema} to cenotaph_eraser;
