-- keywords: keyed hashes of the tokens of current memories; meaningless without the person's lookup secret.
create schema {schema};

create table {schema}.entry (
  tenant_id  uuid not null,
  subject_id uuid not null,
  memory_id  uuid not null,
  version    integer not null,
  terms      bigint[] not null,
  length     integer not null,
  project    uuid, -- which readers it is for, as in facts
  task       uuid,
  assistant  uuid,
  purpose    uuid,
  primary key (memory_id, tenant_id)
);
create index entry_terms on {schema}.entry using gin (terms);
create index entry_subject on {schema}.entry (tenant_id, subject_id);

alter table {schema}.entry enable row level security;
alter table {schema}.entry force row level security;
do $$ begin
  execute format('create policy owner on {schema}.entry to %I using (true) with check (true)', current_user);
end $$;
create policy system on {schema}.entry to cenotaph_projector, cenotaph_prober using (true) with check (true);
create policy reader on {schema}.entry for select to cenotaph_reader using (
  tenant_id = current_setting('cenotaph.tenant')::uuid and subject_id = current_setting('cenotaph.subject')::uuid);
create policy reach on {schema}.entry as restrictive for select to cenotaph_reader using (
  (select current_setting('cenotaph.project')::uuid) in ('00000000-0000-0000-0000-000000000000', project)
  and (task is null or (select current_setting('cenotaph.task')::uuid) in ('00000000-0000-0000-0000-000000000000', task))
  and (assistant is null or (select current_setting('cenotaph.assistant')::uuid) in ('00000000-0000-0000-0000-000000000000', assistant))
  and (purpose is null or (select current_setting('cenotaph.purpose')::uuid) in ('00000000-0000-0000-0000-000000000000', purpose)));
grant usage on schema {schema} to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on {schema}.entry to cenotaph_reader, cenotaph_prober;
grant select, insert, update, delete on {schema}.entry to cenotaph_projector;
grant maintain on all tables in schema {schema} to cenotaph_eraser;
