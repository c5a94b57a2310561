-- sessions: which turns there were, in which session, whether they were considered. Messages stay sealed in log.body.
create schema {schema};

create table {schema}.turn (
  tenant_id   uuid not null,
  subject_id  uuid not null,
  turn_id     uuid not null,
  session_id  uuid not null,
  event_id    uuid not null,
  status      text not null,
  contexts    uuid[] not null, -- compiled contexts that were injected into it
  position    bigint not null,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  considered  boolean not null,
  project     uuid, -- where it was said, as in facts
  task        uuid,
  assistant   uuid,
  purpose     uuid,
  rests_on    uuid[] not null, -- what of the person's upkeep made it of
  consolidated boolean not null, -- upkeep has made of it what it could, or there is nothing of the person in it
  primary key (turn_id, tenant_id)
);
create index turn_recent on {schema}.turn (session_id, subject_id, tenant_id, occurred_at desc, position desc);
create index turn_unconsolidated on {schema}.turn (recorded_at) where not consolidated;
create index turn_made on {schema}.turn (tenant_id, subject_id) where cardinality(rests_on) > 0;
create index turn_waiting on {schema}.turn (recorded_at) where not considered;
-- no GIN: the comparison of arrays is not leakproof, so that a reader's row-level security forbids it an index
create index turn_contexts on {schema}.turn (tenant_id, subject_id) where cardinality(contexts) > 0;

create table {schema}.message (
  tenant_id  uuid not null,
  subject_id uuid not null,
  turn_id    uuid not null,
  message_id uuid not null,
  ordinal    integer not null,
  role       text not null,
  origin     text not null,
  key_id     uuid not null,
  forgotten  boolean not null, -- its words are gone: forgotten or expired
  recorded_at timestamptz not null,
  primary key (message_id, tenant_id)
);
create index message_kept on {schema}.message (recorded_at) where not forgotten;
create index message_own on {schema}.message (tenant_id, subject_id) where not forgotten;
create index message_turn on {schema}.message (turn_id, tenant_id);

-- the newest summary of each session without its texts, which stay sealed in log.body
create table {schema}.summary (
  tenant_id  uuid not null,
  subject_id uuid not null,
  session_id uuid not null,
  event_id   uuid not null,
  version    bigint not null,
  turns      integer not null, -- over how many turns of the session
  written_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (tenant_id, session_id)
);
create index summary_due on {schema}.summary (expires_at);

create table {schema}.summary_item (
  tenant_id  uuid not null,
  subject_id uuid not null,
  session_id uuid not null,
  item_id    uuid not null,
  ordinal    integer not null,
  slot       text not null,
  memories   uuid[] not null, -- what it rests on
  messages   uuid[] not null,
  event_id   uuid not null,
  key_id     uuid not null,
  version    bigint not null,
  gone       boolean not null, -- its text was forgotten
  primary key (tenant_id, session_id, item_id)
);
create index summary_item_key on {schema}.summary_item (key_id);
create index summary_item_person on {schema}.summary_item (tenant_id, subject_id);

do $$
declare name text;
begin
  foreach name in array array['turn', 'message', 'summary', 'summary_item'] loop
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
-- a summary is read where its session is
create policy reach on {schema}.summary as restrictive for select to cenotaph_reader using (
  exists (select from {schema}.turn t where t.session_id = summary.session_id and t.subject_id = summary.subject_id
    and t.tenant_id = summary.tenant_id));
create policy reach on {schema}.summary_item as restrictive for select to cenotaph_reader using (
  exists (select from {schema}.turn t where t.session_id = summary_item.session_id
    and t.subject_id = summary_item.subject_id and t.tenant_id = summary_item.tenant_id));
create policy reach on {schema}.turn as restrictive for select to cenotaph_reader using (
  (select current_setting('cenotaph.project')::uuid) in ('00000000-0000-0000-0000-000000000000', project)
  and (task is null or (select current_setting('cenotaph.task')::uuid) in ('00000000-0000-0000-0000-000000000000', task))
  and (assistant is null or (select current_setting('cenotaph.assistant')::uuid) in ('00000000-0000-0000-0000-000000000000', assistant))
  and (purpose is null or (select current_setting('cenotaph.purpose')::uuid) in ('00000000-0000-0000-0000-000000000000', purpose)));
grant usage on schema {schema} to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on all tables in schema {schema} to cenotaph_reader, cenotaph_prober, cenotaph_eraser;
grant select, insert, update, delete on all tables in schema {schema} to cenotaph_projector;
grant maintain on all tables in schema {schema} to cenotaph_eraser;
