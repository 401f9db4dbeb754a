package flowstore

// Conditions on the records of a window, for the table of flows, which is in order of toStartOfFiveMinutes(start), then
// of addresses, then of start. The engine takes a condition on start for one on that last column, which leaves out
// nothing within a day; so beside each stands what follows from it for the first column, as a hint to the index. A
// record that touches a window may have begun any time before it: there the index of ends is the lower bound.
//
// The hints compare values of one type: ClickHouse before 24.5 does not use its index to compare DateTime with
// DateTime64 (its issue 63441).
const (
	startsInWindow = `start >= window_start AND start < window_end
    AND indexHint(toStartOfFiveMinutes(start) >= toStartOfFiveMinutes(window_start) AND ` + beforeItsEnd + `)`
	touchesWindow = `start < window_end AND end >= window_start AND indexHint(` + beforeItsEnd + `)`

	beforeItsEnd = `toStartOfFiveMinutes(start) <= toStartOfFiveMinutes(window_end)`
)
