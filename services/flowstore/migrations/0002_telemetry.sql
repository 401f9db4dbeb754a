-- Counters of routers. The key is the counter and its time, so a redelivered
-- message replaces itself.
CREATE TABLE IF NOT EXISTS telemetry
(
    device LowCardinality(String),
    path   LowCardinality(String),
    time   DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    value  UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (device, path, time);
