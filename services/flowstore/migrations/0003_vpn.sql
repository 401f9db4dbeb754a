-- VPN flows under I2VFC, one row per flow and round of services/vpn. The key is
-- the flow and the round's time, so a redelivered message replaces itself.
CREATE TABLE IF NOT EXISTS vpn_flows
(
    vpn        LowCardinality(String),
    ingress    LowCardinality(String),
    egress     LowCardinality(String),
    time       DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    throughput Float64 CODEC(ZSTD(1)),
    fair_share Float64 CODEC(ZSTD(1)),
    window     Float64 CODEC(ZSTD(1)),
    rtt        Float64 CODEC(ZSTD(1)),
    loss       Float64 CODEC(ZSTD(1)),
    queue      UInt64 CODEC(ZSTD(1)),
    weight     Float64 CODEC(ZSTD(1)),
    drops      UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (vpn, ingress, egress, time);
-- What all flows of a round have in common.
CREATE TABLE IF NOT EXISTS vpn_fairness
(
    time       DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    fairness   Float64 CODEC(ZSTD(1)),
    jain       Float64 CODEC(ZSTD(1)),
    active     UInt32 CODEC(ZSTD(1)),
    throughput Float64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY time;
