-- Flow records as exporters reported them; counters are not multiplied by sampling_rate.
-- IPv4 addresses are stored mapped (::ffff:a.b.c.d), so that one column holds both families.
-- batch is a hash of the bus message's batch_id: what makes a redelivered message harmless.
CREATE TABLE IF NOT EXISTS flows
(
    batch         UUID CODEC(ZSTD(1)),
    exporter      IPv6 CODEC(ZSTD(1)),
    domain        UInt32 CODEC(ZSTD(1)),
    start         DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    end           DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    src           IPv6 CODEC(ZSTD(1)),
    dst           IPv6 CODEC(ZSTD(1)),
    src_port      UInt16,
    dst_port      UInt16,
    protocol      UInt8,
    tos           UInt8,
    tcp_flags     UInt16,
    in_if         UInt32,
    out_if        UInt32,
    bytes         UInt64 CODEC(ZSTD(1)),
    packets       UInt64 CODEC(ZSTD(1)),
    sampling_rate UInt64 CODEC(ZSTD(1)),
    source        UInt8,
    INDEX batches batch TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX ends end TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(start)
ORDER BY (toStartOfFiveMinutes(start), src, dst, start);
