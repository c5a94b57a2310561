-- How far each read model has followed the log, written in one transaction with its effects.
create schema read_model;
create table read_model.checkpoint (
  name     text not null,
  version  integer not null,
  position bigint not null,
  place    text not null, -- schema or collection that serves it
  model    text,          -- of a vector index: which model made its vectors
  until    timestamptz,   -- of one that served before: how long it is kept
  primary key (name, version)
);

-- what a live read model passed over because its build does not know the type or version; a rebuild clears it
create table read_model.skipped (
  name           text not null,
  version        integer not null,
  type           text not null,
  schema_version integer not null,
  events         bigint not null,
  first_position bigint not null,
  last_position  bigint not null,
  primary key (name, version, type, schema_version)
);

-- how each read model compared with the log the last time it was built anew beside the one that serves
create table read_model.compared (
  name      text primary key,
  position  bigint not null,
  compared  bigint not null,
  missing   bigint not null,
  extra     bigint not null,
  differing bigint not null,
  at        timestamptz not null default clock_timestamp()
);

-- events whose sealed part for the indexes cannot be read: no read model waits for it, and none can have it
create table read_model.unreadable (
  event_id uuid primary key,
  position bigint,
  what     text not null, -- lost: its key is gone; tampered: its bytes are not what was sealed
  at       timestamptz not null default clock_timestamp()
);

grant usage on schema read_model to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on read_model.checkpoint, read_model.skipped, read_model.compared, read_model.unreadable
  to cenotaph_reader, cenotaph_prober, cenotaph_eraser;
grant select, insert, update on read_model.compared to cenotaph_projector;
grant select, insert, update, delete on read_model.checkpoint, read_model.skipped to cenotaph_projector;
grant select, insert on read_model.unreadable to cenotaph_projector;
grant update on read_model.checkpoint to cenotaph_eraser; -- it follows the log too, for what has expired
grant insert, update on read_model.skipped to cenotaph_eraser;
