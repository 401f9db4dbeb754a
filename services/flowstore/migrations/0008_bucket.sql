-- One of 65,536 buckets of source and destination, by multiplications with odd factors: in few of them a flow can have
-- sent much, so that the nightly run groups few records, and reads addresses of few. Of parts that are there it is computed
-- from the addresses until they are merged.
ALTER TABLE flows
    ADD COLUMN IF NOT EXISTS bucket UInt16
    MATERIALIZED toUInt16(bitShiftRight(
        toUInt64(toUInt128(src)) * 11400714819323198485 + toUInt64(bitShiftRight(toUInt128(src), 64)) * 13787848793156543929
        + toUInt64(toUInt128(dst)) * 14029467366897019727 + toUInt64(bitShiftRight(toUInt128(dst), 64)) * 16923214173294387419, 48))
    CODEC(LZ4);
