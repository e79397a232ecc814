-- SPDX-License-Identifier: MIT
-- What the documents of many hosts have in common: verdicts, the worst hosts, groups, cost. First
-- duckdb.sql or clickhouse.sql makes the tables; what follows is the same for both. Verdicts are those
-- of the documents, not judged anew.

-- verdicts
SELECT verdict, count(*) AS hosts
FROM hosts
GROUP BY verdict
ORDER BY hosts DESC, verdict;

-- the worst hosts
SELECT name, verdict, lost_ns, call_ns, clocksource, kernel
FROM hosts
WHERE verdict <> 'ok'
ORDER BY
    CASE verdict WHEN 'wrong' THEN 1 WHEN 'fallback' THEN 2 WHEN 'slow' THEN 3 ELSE 4 END,
    lost_ns * rate_per_s DESC NULLS LAST,
    lost_ns DESC NULLS LAST,
    call_ns DESC NULLS LAST,
    name
LIMIT 10;

-- by cause, of which a host may have several
SELECT
    cause,
    count(*) AS hosts,
    count(CASE WHEN verdict = 'wrong' THEN 1 END) AS wrong,
    count(CASE WHEN verdict = 'fallback' THEN 1 END) AS fallback,
    count(CASE WHEN verdict = 'slow' THEN 1 END) AS slow,
    count(CASE WHEN verdict = 'unknown' THEN 1 END) AS undetermined,
    round(avg(lost_ns), 1) AS mean_lost_ns
FROM causes
GROUP BY cause
ORDER BY hosts DESC, cause;

-- by kernel
SELECT
    kernel,
    count(*) AS hosts,
    count(CASE WHEN verdict = 'wrong' THEN 1 END) AS wrong,
    count(CASE WHEN verdict = 'fallback' THEN 1 END) AS fallback,
    count(CASE WHEN verdict = 'slow' THEN 1 END) AS slow,
    count(CASE WHEN verdict = 'unknown' THEN 1 END) AS undetermined,
    round(avg(CASE WHEN verdict <> 'ok' THEN lost_ns END), 1) AS mean_lost_ns
FROM hosts
GROUP BY kernel
ORDER BY wrong + fallback + slow DESC, hosts DESC, kernel;

-- by clocksource
SELECT
    clocksource,
    count(*) AS hosts,
    count(CASE WHEN verdict = 'wrong' THEN 1 END) AS wrong,
    count(CASE WHEN verdict = 'fallback' THEN 1 END) AS fallback,
    count(CASE WHEN verdict = 'slow' THEN 1 END) AS slow,
    count(CASE WHEN verdict = 'unknown' THEN 1 END) AS undetermined,
    round(avg(CASE WHEN verdict <> 'ok' THEN lost_ns END), 1) AS mean_lost_ns
FROM hosts
GROUP BY clocksource
ORDER BY wrong + fallback + slow DESC, hosts DESC, clocksource;

-- by instance type, of hosts that were checked with --include-identity
SELECT
    instance_type,
    count(*) AS hosts,
    count(CASE WHEN verdict = 'wrong' THEN 1 END) AS wrong,
    count(CASE WHEN verdict = 'fallback' THEN 1 END) AS fallback,
    count(CASE WHEN verdict = 'slow' THEN 1 END) AS slow,
    count(CASE WHEN verdict = 'unknown' THEN 1 END) AS undetermined,
    round(avg(CASE WHEN verdict <> 'ok' THEN lost_ns END), 1) AS mean_lost_ns
FROM hosts
GROUP BY instance_type
ORDER BY wrong + fallback + slow DESC, hosts DESC, instance_type;

-- cost: CPUs lost at the rate of calls that the documents were written with (--rate), and what
-- they would be if every host made 100,000 calls per second
SELECT
    count(lost_ns) AS priced_hosts,
    round(avg(lost_ns), 1) AS mean_lost_ns,
    count(lost_ns * rate_per_s) AS rated_hosts,
    round(sum(lost_ns * rate_per_s) / 1e9, 3) AS lost_cpus,
    round(sum(lost_ns * 100000) / 1e9, 3) AS lost_cpus_at_100k
FROM hosts
WHERE verdict <> 'ok';
