-- SPDX-License-Identifier: MIT
-- The tables of fleet.sql in ClickHouse, from the documents of `vdsocheck --json` in clocks.jsonl:
--
--   vdsocheck --json --from clocks/*.json >clocks.jsonl
--   cat clickhouse.sql fleet.sql | clickhouse-local
--
-- file() reads other files too, and s3() and url() take the same structure. What differs from
-- duckdb.sql: the table has an engine, the structure is one text of Tuple and Nullable, the ids of
-- an array of tuples are `causes.id`, and unnest() is arrayJoin().

CREATE TABLE hosts ENGINE = Memory AS
SELECT
    coalesce(host.name, file, 'unnamed') AS name,
    time,
    verdict,
    coalesce(host.kernel, 'unknown') AS kernel,
    coalesce(clocksource.current, 'unknown') AS clocksource,
    coalesce(host.instance_type, 'unknown') AS instance_type,
    causes.id AS causes,
    cost.call_ns AS call_ns,
    cost.lost_ns AS lost_ns,
    cost.rate_per_s AS rate_per_s
FROM file('clocks.jsonl', 'JSONEachRow', '
    time Nullable(String),
    file Nullable(String),
    verdict String,
    clocksource Tuple(current Nullable(String)),
    host Tuple(name Nullable(String), instance_type Nullable(String), kernel Nullable(String)),
    causes Array(Tuple(id String)),
    cost Tuple(call_ns Nullable(Float64), lost_ns Nullable(Float64), rate_per_s Nullable(Float64))
');

-- A row for each cause of each host that is not ok.
CREATE VIEW causes AS
SELECT
    arrayJoin(CASE WHEN empty(causes) THEN ['none found'] ELSE causes END) AS cause,
    verdict,
    lost_ns
FROM hosts
WHERE verdict <> 'ok';
