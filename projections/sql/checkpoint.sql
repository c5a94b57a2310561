-- How far each read model has followed the log, written in one transaction with its effects.
create schema read_model;
create table read_model.checkpoint (
  name     text not null,
  version  integer not null,
  position bigint not null,
  place    text not null, -- schema or collection that serves it
  primary key (name, version)
);
grant usage on schema read_model to cenotaph_reader, cenotaph_projector, cenotaph_prober, cenotaph_eraser;
grant select on read_model.checkpoint to cenotaph_reader, cenotaph_prober, cenotaph_eraser;
grant select, insert, update, delete on read_model.checkpoint to cenotaph_projector;
