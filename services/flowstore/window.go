package flowstore

// Conditions on the records of a window, for the table of flows, which is in order of toStartOfFiveMinutes(start), then
// of addresses, then of start. The engine takes a condition on start for one on that last column, which leaves out
// nothing within a day; so the same condition on the first one is beside it, as a hint to the index.
const (
	startsInWindow = `start >= window_start AND start < window_end
    AND indexHint(toStartOfFiveMinutes(start) > window_start - toIntervalMinute(5) AND toStartOfFiveMinutes(start) < window_end)`
	touchesWindow = `start < window_end AND end >= window_start AND indexHint(toStartOfFiveMinutes(start) < window_end)`
)
