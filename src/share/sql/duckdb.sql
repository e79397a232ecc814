-- SPDX-License-Identifier: MIT
-- The tables of fleet.sql in DuckDB, from the documents of `vdsocheck --json` in clocks.jsonl:
--
--   vdsocheck --json --from clocks/*.json >clocks.jsonl
--   cat duckdb.sql fleet.sql | duckdb
--
-- read_json() reads other files too: 'clocks/*.jsonl.gz', 's3://bucket/clocks/*.jsonl'.

CREATE OR REPLACE TABLE hosts AS
SELECT
    coalesce(host.name, file, 'unnamed') AS name,
    time,
    verdict,
    coalesce(host.kernel, 'unknown') AS kernel,
    coalesce(clocksource.current, 'unknown') AS clocksource,
    coalesce(host.instance_type, 'unknown') AS instance_type,
    [cause.id FOR cause IN causes] AS causes,
    cost.call_ns AS call_ns,
    cost.lost_ns AS lost_ns,
    cost.rate_per_s AS rate_per_s
FROM read_json('clocks.jsonl', format = 'newline_delimited', columns = {
    time: 'VARCHAR',
    file: 'VARCHAR',
    verdict: 'VARCHAR',
    clocksource: 'STRUCT("current" VARCHAR)',
    host: 'STRUCT(name VARCHAR, instance_type VARCHAR, kernel VARCHAR)',
    causes: 'STRUCT(id VARCHAR)[]',
    cost: 'STRUCT(call_ns DOUBLE, lost_ns DOUBLE, rate_per_s DOUBLE)'
});

-- A row for each cause of each host that is not ok.
CREATE OR REPLACE VIEW causes AS
SELECT
    unnest(CASE WHEN len(causes) = 0 THEN ['none found'] ELSE causes END) AS cause,
    verdict,
    lost_ns
FROM hosts
WHERE verdict <> 'ok';
