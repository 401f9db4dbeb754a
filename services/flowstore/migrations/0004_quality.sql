-- How complete the export of flows was: one row per run of a collector, exporter, observation domain and format, and hour.
-- The run counts on within the hour: the row with the largest revision holds, so a redelivered message changes nothing.
-- Exporter 0.0.0.0 of source 0 is the collector itself: what its sockets took and lost.
CREATE TABLE IF NOT EXISTS quality
(
    hour         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    exporter     IPv6 CODEC(ZSTD(1)),
    domain       UInt32 CODEC(ZSTD(1)),
    source       UInt8,
    collector    String CODEC(ZSTD(1)),
    revision     UInt64 CODEC(ZSTD(1)),
    datagrams    UInt64 CODEC(ZSTD(1)),
    records      UInt64 CODEC(ZSTD(1)),
    unknown_rate UInt64 CODEC(ZSTD(1)),
    received     UInt64 CODEC(ZSTD(1)),
    lost         UInt64 CODEC(ZSTD(1)),
    no_template  UInt64 CODEC(ZSTD(1)),
    out_of_range UInt64 CODEC(ZSTD(1)),
    refused      UInt64 CODEC(ZSTD(1)),
    socket_drops UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(revision)
PARTITION BY toYYYYMMDD(hour)
ORDER BY (hour, exporter, domain, source, collector);
