package bus

import (
	"context"
	"log/slog"
	"time"
)

// Redelivery backs off between these bounds.
const (
	minRetry = 10 * time.Millisecond
	maxRetry = 5 * time.Second
)

// backoff is the pause before the attempt after n failed ones.
func backoff(n int) time.Duration {
	if n > 10 { // 10 ms << 10 is over maxRetry; shifting on would overflow
		return maxRetry
	}
	return min(minRetry<<max(n-1, 0), maxRetry)
}

// logFailure reports a message that was not taken. The first failures are
// usually a dependency that is restarting; what is still here after a second
// or so is for an operator.
func logFailure(group string, m Message, failures int, err error) {
	const quiet = 6 // 10+20+…+320 ms
	level := slog.LevelDebug
	if failures > quiet {
		level = slog.LevelWarn
	}
	slog.Log(context.Background(), level, "message not taken, will be delivered again",
		"topic", m.Topic, "group", group, "key", m.Key, "failures", failures, "error", err)
}
