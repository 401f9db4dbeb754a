-- The fixed-interval rule of paper 002, section II. A record that spans intervals is split in
-- proportion to time: of b bytes over d ms, floor(b*t/d) were sent t ms after the start, and an
-- interval gets the difference between its end and its start, so that the pieces sum to b exactly.
-- A record without duration belongs to the interval of its start. 128-bit integers, because bytes
-- times sampling rate times milliseconds overflow 64.
--
-- Few flows exceed the threshold, so only records of those are split that may: behind the window (window.go)
-- stands a condition on them (buckets.go, periods.go).
WITH
    ? AS ms, ? AS first_slot, ? AS end_slot, ? AS min_bytes,
    fromUnixTimestamp64Milli(toInt64(first_slot * ms), 'UTC') AS window_start,
    fromUnixTimestamp64Milli(toInt64(end_slot * ms), 'UTC') AS window_end,
    cityHash64(exporter, src, dst, src_port, dst_port, protocol) AS flow,
    toUnixTimestamp64Milli(start) AS t0,
    toUnixTimestamp64Milli(end) AS t1,
    toUInt128(bytes) * greatest(sampling_rate, 1) AS all_bytes,
    toUInt128(packets) * greatest(sampling_rate, 1) AS all_packets,
    toUInt128(greatest(slot * ms, t0) - t0) AS since,
    toUInt128(greatest(least((slot + 1) * ms, t1), t0) - t0) AS until,
    toUInt128(greatest(t1 - t0, 1)) AS lasted,
    intDiv(t0, ms) AS slot0,
    intDiv(greatest(t1 - 1, t0), ms) AS slot1
SELECT
    slot, exporter, src, dst, src_port, dst_port, protocol,
    argMax(in_if, piece_bytes) AS in_interface,
    toUInt64(least(sum(piece_bytes), toUInt128(18446744073709551615))) AS sum_bytes,
    toUInt64(least(sum(piece_packets), toUInt128(18446744073709551615))) AS sum_packets,
    count() AS records,
    if(min(rate) = 0, toUInt64(0), max(rate)) AS sampling,
    max(ended) AS last_end
FROM
(
    SELECT
        exporter, src, dst, src_port, dst_port, protocol, in_if,
        sampling_rate AS rate,
        end AS ended,
        arrayJoin(range(greatest(slot0, first_slot), least(slot1 + 1, end_slot))) AS slot,
        if(slot0 = slot1, all_bytes, intDiv(all_bytes * until, lasted) - intDiv(all_bytes * since, lasted)) AS piece_bytes,
        if(slot0 = slot1, all_packets, intDiv(all_packets * until, lasted) - intDiv(all_packets * since, lasted)) AS piece_packets
    FROM flows
    WHERE %s
)
GROUP BY slot, exporter, src, dst, src_port, dst_port, protocol
HAVING sum(piece_bytes) > min_bytes
ORDER BY slot, exporter, src, dst, src_port, dst_port, protocol
