-- What prefix pairs sent in the fixed intervals number first_slot … end_slot-1, and how much of it flows did
-- that sent more than min_bytes in one of them. Records are split over intervals as in intervals.sql.
WITH
    ? AS ms, ? AS first_slot, ? AS end_slot, ? AS min_bytes, ? AS src_bits, ? AS dst_bits,
    fromUnixTimestamp64Milli(toInt64(first_slot * ms), 'UTC') AS window_start,
    fromUnixTimestamp64Milli(toInt64(end_slot * ms), 'UTC') AS window_end,
    toUnixTimestamp64Milli(start) AS t0,
    toUnixTimestamp64Milli(end) AS t1,
    toUInt128(bytes) * greatest(sampling_rate, 1) AS all_bytes,
    toUInt128(greatest(slot * ms, t0) - t0) AS since,
    toUInt128(greatest(least((slot + 1) * ms, t1), t0) - t0) AS until,
    toUInt128(greatest(t1 - t0, 1)) AS lasted,
    intDiv(t0, ms) AS slot0,
    intDiv(greatest(t1 - 1, t0), ms) AS slot1
SELECT
    exporter, s, d,
    toUInt64(least(sum(flow_bytes), toUInt128(18446744073709551615))),
    toUInt64(least(sumIf(flow_bytes, most > min_bytes), toUInt128(18446744073709551615))),
    max(seen)
FROM
(
    SELECT exporter, s, d, src, dst, src_port, dst_port, protocol, sum(slot_bytes) AS flow_bytes, max(slot_bytes) AS most, max(slot_seen) AS seen
    FROM
    (
        SELECT
            exporter, IPv6CIDRToRange(src, src_bits).1 AS s, IPv6CIDRToRange(dst, dst_bits).1 AS d,
            src, dst, src_port, dst_port, protocol, slot, sum(piece) AS slot_bytes, max(ended) AS slot_seen
        FROM
        (
            SELECT
                exporter, src, dst, src_port, dst_port, protocol,
                least(end, window_end) AS ended,
                arrayJoin(range(greatest(slot0, first_slot), least(slot1 + 1, end_slot))) AS slot,
                if(slot0 = slot1, all_bytes, intDiv(all_bytes * until, lasted) - intDiv(all_bytes * since, lasted)) AS piece
            FROM flows
            WHERE %s
                AND (exporter, IPv6CIDRToRange(src, src_bits).1, IPv6CIDRToRange(dst, dst_bits).1) IN (%s)
        )
        GROUP BY exporter, src, dst, src_port, dst_port, protocol, slot
    )
    GROUP BY exporter, s, d, src, dst, src_port, dst_port, protocol
)
GROUP BY exporter, s, d
