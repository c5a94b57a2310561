-- The vault: data key → person key → tenant key → provider epoch. Every `wrapped` is AES-256-GCM under the key above it.
create schema vault;

create table vault.epoch (
  epoch_id   uuid primary key, -- the secret itself lies with the provider
  created_at timestamptz not null default clock_timestamp()
);

create table vault.tenant (
  tenant_id uuid primary key,
  epoch_id  uuid not null references vault.epoch,
  wrapped   bytea not null,
  lookup    bytea not null -- wrapped secret for keyed digests of outside ids
);

create table vault.person (
  tenant_id  uuid not null references vault.tenant,
  subject_id uuid not null,
  wrapped    bytea not null,
  lookup     bytea not null, -- wrapped secret for keyed digests: outside ids, tags, terms
  primary key (tenant_id, subject_id)
);

create table vault.data_key (
  key_id     uuid primary key,
  tenant_id  uuid not null,
  subject_id uuid not null,
  wrapped    bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
create index data_key_person on vault.data_key (tenant_id, subject_id);

-- outside ids: a keyed digest to find them by, the id itself sealed; subject_id is the nil UUID for the tenant's own
create table vault.alias (
  tenant_id  uuid not null,
  subject_id uuid not null,
  kind       text not null,
  digest     bytea not null,
  internal   uuid not null,
  sealed     bytea not null,
  primary key (tenant_id, subject_id, kind, digest)
);
create index alias_internal on vault.alias (tenant_id, subject_id, internal);

do $$
declare name text;
begin
  foreach name in array array['keeper', 'opener', 'eraser'] loop
    if not exists (select from pg_roles where rolname = 'vault_' || name) then
      execute format('create role %I login', 'vault_' || name);
    end if;
  end loop;
end $$;

grant usage on schema vault to vault_keeper, vault_opener, vault_eraser;
grant select on all tables in schema vault to vault_keeper, vault_opener, vault_eraser;
grant insert on vault.epoch, vault.tenant, vault.person, vault.data_key, vault.alias to vault_keeper;
grant insert on vault.data_key to vault_eraser; -- probe keys
grant delete on vault.data_key to vault_eraser;
