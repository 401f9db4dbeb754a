-- What was sent in records, by tag: that of the latest firefly about the flow, in either direction, which began before the
-- record ended and holds when the record starts; else that of the flow label. Clocks of hosts and routers may differ by a
-- minute, for which TCP does not use a 5-tuple again (TIME_WAIT). A flow of which no end was heard has a day.
WITH
    ? AS window_start, ? AS window_end, ? AS src_bits, ? AS dst_bits,
    fireflies AS
    (
        SELECT src AS one, dst AS other, src_port AS one_port, dst_port AS other_port, protocol, start - toIntervalSecond(60) AS holds_from, community, activity,
            until + toIntervalSecond(if(ended = 1, 60, 86400)) AS holds_until
        FROM flow_tags FINAL
        WHERE start >= ? AND start < ? AND %[4]s
    )
SELECT exporter, s, d, by_firefly, tag, toUInt64(least(sum(octets), toUInt128(18446744073709551615))), count()
FROM
(
    SELECT
        exporter, s, d, octets, toUInt8(t.community > 0 AND r.start <= t.holds_until) AS by_firefly,
        toUInt32(multiIf(by_firefly = 1, t.community * 64 + t.activity, r.labelled, bitAnd(r.flow_label, %[1]d), 0)) AS tag
    FROM
    (
        SELECT
            exporter, IPv6CIDRToRange(src, src_bits).1 AS s, IPv6CIDRToRange(dst, dst_bits).1 AS d,
            src, dst, src_port, dst_port, protocol, start, end, flow_label, %[2]s AS labelled, toUInt128(bytes) * greatest(sampling_rate, 1) AS octets
        FROM flows
        WHERE %[3]s
    ) AS r
    ASOF LEFT JOIN
    (
        SELECT one AS src, other AS dst, one_port AS src_port, other_port AS dst_port, protocol, holds_from, community, activity, holds_until FROM fireflies
        UNION ALL
        SELECT other AS src, one AS dst, other_port AS src_port, one_port AS dst_port, protocol, holds_from, community, activity, holds_until FROM fireflies
    ) AS t
    ON r.src = t.src AND r.dst = t.dst AND r.src_port = t.src_port AND r.dst_port = t.dst_port AND r.protocol = t.protocol AND r.end >= t.holds_from
)
GROUP BY exporter, s, d, by_firefly, tag
SETTINGS join_algorithm = 'full_sorting_merge,hash'
