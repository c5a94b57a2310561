-- What every recall begins with, in one round trip.

-- Bind the transaction as far as a reader reaches (tenant, person, project, task, assistant, purpose), so that row-level security
-- holds for all that follows as for any query of a reader; one that is bound otherwise stays so, which is an error.
create function read_model.bind_v1(p_bounds uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  names constant text[] := array['cenotaph.tenant', 'cenotaph.subject', 'cenotaph.project', 'cenotaph.task', 'cenotaph.assistant',
    'cenotaph.purpose'];
begin
  if cardinality(p_bounds) <> 6 or array_position(p_bounds, null) is not null then
    raise exception 'a reader is bound to a tenant, a person, a project, a task, an assistant and a purpose' using errcode = 'invalid_parameter_value';
  end if;
  for i in 1 .. 6 loop
    if nullif(current_setting(names[i], true), '') <> p_bounds[i]::text then
      raise exception 'this transaction is bound to another reader' using errcode = 'insufficient_privilege';
    end if;
    perform set_config(names[i], p_bounds[i]::text, true);
  end loop;
end $$;

-- How far the log and the read models have come for one person; what holds whatever the person talks about; what the person
-- chose (projections/moment.py). Planned once a session: planning it takes four times as long as running it does. A plan that is
-- made while a table is empty serves when it is not, so it may only rest on the indexes.
create function read_model.present_v1(p_bounds uuid[], p_streams text[], p_standing integer)
returns table (
  "position" bigint, indexed bigint, vectors text, model text, versions bigint[], settled boolean, standing uuid[],
  choices bytea[]
) language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  p_tenant constant uuid := p_bounds[1];
  p_subject constant uuid := p_bounds[2];
begin
  perform read_model.bind_v1(p_bounds);
  return query
  with model as (
    select distinct on (c.name) c.name, c.position, c.place, c.model from read_model.checkpoint c
    where c.name in ('facts', 'keywords', 'sessions', 'vectors') order by c.name, c.version desc
  ), last as (
    select s.n, l.version, l.position
    from unnest(p_streams) with ordinality as s(stream, n) left join lateral (
      select e.version, p.position from log.event e left join log.sealed p using (seq)
      where e.tenant_id = p_tenant and e.stream = s.stream order by e.version desc limit 1) l on true
  )
  select (select h.size - 1 from log.head h),
         (select min(m.position) from model m where m.name in ('keywords', 'vectors')),
         (select m.place from model m where m.name = 'vectors'),
         (select m.model from model m where m.name = 'vectors'),
         array(select coalesce(l.version, 0) from last l order by l.n),
         coalesce((select bool_and(l.version is null or l.position <= (select min(m.position) from model m))
                   from last l), false)
           and not exists (select from last l where l.version is not null and l.position is null),
         array(select f.memory_id from facts.memory f
               where f.tenant_id = p_tenant and f.subject_id = p_subject and f.status in ('current', 'in_conflict')
                 and f.kind in ('format', 'profile', 'procedure')
               order by f.importance desc, f.memory_id limit p_standing),
         array(select e.envelope from log.event e
               where e.tenant_id = p_tenant and e.stream = p_streams[1]
                 and e.type in ('consent_given', 'consent_withdrawn', 'suppression_asked') order by e.version);
end $$;
revoke all on function read_model.bind_v1, read_model.present_v1 from public;
grant execute on function read_model.bind_v1, read_model.present_v1 to cenotaph_reader;
