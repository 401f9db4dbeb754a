-- What circuits sent: the last reading of each of their counters in each minute. They are counters of a router and begin at
-- 0 when the circuit is put on it; the difference of two minutes is what was sent between. The key is the counter and
-- its minute, and of two readings the later one stays, so a redelivered message changes nothing.
CREATE TABLE IF NOT EXISTS circuit_counters
(
    circuit String,
    device  LowCardinality(String),
    counter LowCardinality(String),
    minute  DateTime('UTC') CODEC(Delta, ZSTD(1)),
    time    DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    value   UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(time)
PARTITION BY toYYYYMM(minute)
ORDER BY (circuit, device, counter, minute);
