-- Whose flows are and what for (SciTags): the flow label of IPv6, whose 15 middle bits tell it where hosts mark their packets,
-- and what hosts say by firefly. 0 is no label, and what rows of before have.
ALTER TABLE flows
    ADD COLUMN IF NOT EXISTS flow_label UInt32 DEFAULT 0 CODEC(T64('bit'), ZSTD(1));
-- One row for each flow that a host spoke of: the latest it said. version is what makes it that: an end is later than all
-- else, then the larger `until` is. The key is the flow and its start, so a redelivered message changes nothing.
CREATE TABLE IF NOT EXISTS flow_tags
(
    src         IPv6 CODEC(ZSTD(1)),
    dst         IPv6 CODEC(ZSTD(1)),
    src_port    UInt16 CODEC(T64('bit'), ZSTD(1)),
    dst_port    UInt16 CODEC(T64('bit'), ZSTD(1)),
    protocol    UInt8 CODEC(ZSTD(1)),
    start       DateTime64(3, 'UTC') CODEC(T64('bit'), ZSTD(1)),
    until       DateTime64(3, 'UTC') CODEC(T64('bit'), ZSTD(1)),
    ended       UInt8 CODEC(ZSTD(1)),
    community   UInt16 CODEC(ZSTD(1)),
    activity    UInt8 CODEC(ZSTD(1)),
    application LowCardinality(String),
    reporter    IPv6 CODEC(ZSTD(1)),
    version     UInt64 CODEC(T64('bit'), ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMMDD(start)
ORDER BY (src, dst, src_port, dst_port, protocol, start);
