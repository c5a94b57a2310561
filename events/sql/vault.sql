-- The vault: data key → person key → tenant key → provider epoch. Every `wrapped` is AES-256-GCM under the key above it.
create schema vault;

-- A key that changes gets a new generation beside the old one. Whatever is wrapped under a key refers to its row, so no key
-- can go while anything still needs it, and nothing can be wrapped under one that has gone.
create table vault.epoch (
  epoch_id   uuid primary key, -- the secret itself lies with the provider
  created_at timestamptz not null default clock_timestamp(),
  ready      boolean not null default false -- the provider has it
);

-- epochs nothing is wrapped under any more; destroyed_at stays empty until the provider has destroyed the secret
create table vault.retired_epoch (
  epoch_id     uuid primary key,
  created_at   timestamptz not null,
  retired_at   timestamptz not null default clock_timestamp(),
  destroyed_at timestamptz
);

create table vault.tenant (
  tenant_id  uuid not null,
  generation integer not null,
  epoch_id   uuid not null references vault.epoch,
  wrapped    bytea not null,
  lookup     bytea not null, -- wrapped secret for keyed digests of outside ids
  primary key (tenant_id, generation)
);
create index tenant_epoch on vault.tenant (epoch_id);

create table vault.person (
  tenant_id         uuid not null,
  subject_id        uuid not null,
  generation        integer not null,
  tenant_generation integer not null,
  wrapped           bytea not null,
  lookup            bytea not null, -- wrapped secret for keyed digests: outside ids, tags, terms
  since             timestamptz, -- somebody of the same outside id was forgotten then; what was said before stays forgotten
  primary key (tenant_id, subject_id, generation),
  foreign key (tenant_id, tenant_generation) references vault.tenant (tenant_id, generation)
);
create index person_tenant on vault.person (tenant_id, tenant_generation);

create table vault.data_key (
  key_id     uuid primary key,
  tenant_id  uuid not null,
  subject_id uuid not null,
  generation integer not null, -- of the person key it is wrapped under
  wrapped    bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, subject_id, generation) references vault.person (tenant_id, subject_id, generation)
);
-- not led by the person, nor is the key of `alias`: without statistics a planner would take either for a look-up by id
create index data_key_person on vault.data_key (generation, subject_id, tenant_id);

-- people some of whose keys were destroyed since their key last changed; a roll takes the marks it finds when it begins
create table vault.due (
  tenant_id  uuid not null,
  subject_id uuid not null,
  taken      boolean not null default false,
  primary key (tenant_id, subject_id, taken)
);

create function vault.mark_due_v1() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.due (tenant_id, subject_id)
    select distinct tenant_id, subject_id from gone order by tenant_id, subject_id on conflict do nothing;
  return null;
end $$;

-- an old generation that a roll removes is no reason for another roll; a person without any left is one
create function vault.mark_gone_v1() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.due (tenant_id, subject_id)
    select distinct g.tenant_id, g.subject_id from gone g
    where not exists (select from vault.person p where p.tenant_id = g.tenant_id and p.subject_id = g.subject_id)
    order by g.tenant_id, g.subject_id on conflict do nothing;
  return null;
end $$;

create trigger due after delete on vault.data_key
  referencing old table as gone for each statement execute function vault.mark_due_v1();
create trigger due after delete on vault.person
  referencing old table as gone for each statement execute function vault.mark_gone_v1();

-- outside ids: a keyed digest to find them by, the id itself sealed; subject_id is the nil UUID for the tenant's own
create table vault.alias (
  tenant_id  uuid not null,
  subject_id uuid not null,
  kind       text not null,
  digest     bytea not null,
  internal   uuid not null,
  sealed     bytea not null,
  since      timestamptz, -- of a person who was forgotten: when; the row then only knows the name if it is said again
  primary key (digest, subject_id, tenant_id, kind)
);
-- none is led by the person (see data_key_person): who forgets a whole person reads this table once
create unique index alias_internal on vault.alias (internal);

-- people, or with the nil UUID whole tenants, that were forgotten: nobody makes them a key again
create table vault.gone (
  tenant_id  uuid not null,
  subject_id uuid not null,
  primary key (tenant_id, subject_id)
);

-- Destroy everything of a person for good; says how many data keys went. Of the outside id only its digest stays, under a new
-- internal id, so that what was said until p_at is not taken again when somebody of that name comes back.
create function vault.erase_person_v1(p_tenant uuid, p_subject uuid, p_at timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  keys bigint;
begin
  insert into vault.gone values (p_tenant, p_subject) on conflict do nothing;
  delete from vault.data_key d using vault.person p where p.tenant_id = p_tenant and p.subject_id = p_subject
    and d.tenant_id = p.tenant_id and d.subject_id = p.subject_id and d.generation = p.generation;
  get diagnostics keys = row_count;
  delete from vault.person where tenant_id = p_tenant and subject_id = p_subject;
  delete from vault.alias where tenant_id = p_tenant and subject_id = p_subject;
  update vault.alias set internal = gen_random_uuid(), sealed = '', since = p_at
    where internal = p_subject and tenant_id = p_tenant and subject_id = '00000000-0000-0000-0000-000000000000';
  return keys;
end $$;

-- Bar a whole tenant: nobody of it gets a key again.
create function vault.bar_tenant_v1(p_tenant uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into vault.gone values (p_tenant, '00000000-0000-0000-0000-000000000000') on conflict do nothing
$$;

-- Destroy what is left of a tenant that is barred: names, and its key.
create function vault.drop_tenant_v1(p_tenant uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (
    select from vault.gone where tenant_id = p_tenant and subject_id = '00000000-0000-0000-0000-000000000000'
  ) then
    raise exception 'tenant % was not forgotten', p_tenant using errcode = 'insufficient_privilege';
  end if;
  delete from vault.data_key where tenant_id = p_tenant;
  delete from vault.person where tenant_id = p_tenant;
  delete from vault.alias where tenant_id = p_tenant;
  delete from vault.tenant where tenant_id = p_tenant;
end $$;

-- Destroy the keys of somebody without a name, who was made for a purpose.
create function vault.discard_v1(p_tenant uuid, p_subject uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from vault.alias where internal = p_subject or (tenant_id = p_tenant and subject_id = p_subject)) then
    raise exception 'subject % has a name', p_subject using errcode = 'insufficient_privilege';
  end if;
  delete from vault.data_key d using vault.person p where p.tenant_id = p_tenant and p.subject_id = p_subject
    and d.tenant_id = p.tenant_id and d.subject_id = p.subject_id and d.generation = p.generation;
  delete from vault.person where tenant_id = p_tenant and subject_id = p_subject;
end $$;

-- by which restore the keys came here, if by any, so that one that was interrupted brings them once
create table vault.restored (
  restore_id uuid primary key,
  at         timestamptz not null default clock_timestamp()
);

do $$
declare name text;
begin
  foreach name in array array['keeper', 'opener', 'eraser', 'roller'] loop
    if not exists (select from pg_roles where rolname = 'vault_' || name) then
      execute format('create role %I login', 'vault_' || name);
    end if;
  end loop;
end $$;

-- When the oldest transaction began that may still see removed rows; now, where there is none; null where our owner may not
-- see those of others: who is no superuser is to be a member of pg_read_all_stats.
create function vault.oldest_transaction_v1() returns timestamptz
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select least(clock_timestamp(), (select min(xact_start) from pg_stat_activity
    where pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)),
    (select min(prepared) from pg_prepared_xacts))
  where pg_has_role(current_user, 'pg_read_all_stats', 'usage')
$$;

grant usage on schema vault to vault_keeper, vault_opener, vault_eraser, vault_roller;
grant select on all tables in schema vault to vault_keeper, vault_opener, vault_eraser, vault_roller;
grant insert on vault.epoch, vault.tenant, vault.person, vault.data_key, vault.alias to vault_keeper;
grant insert on vault.data_key, vault.person to vault_eraser; -- probe keys, of a whole person's under a scratch one
grant delete on vault.data_key to vault_eraser;
revoke all on all functions in schema vault from public;
grant execute on function vault.erase_person_v1, vault.bar_tenant_v1, vault.drop_tenant_v1, vault.discard_v1,
  vault.oldest_transaction_v1 to vault_eraser;
grant insert, update, delete on vault.tenant, vault.person, vault.epoch, vault.due to vault_roller;
grant insert, update on vault.retired_epoch to vault_roller;
grant update on vault.data_key to vault_roller; -- it rewraps data keys and destroys none
grant maintain on all tables in schema vault to vault_eraser;
