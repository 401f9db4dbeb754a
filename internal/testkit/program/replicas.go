package program

import (
	"strconv"
	"strings"
)

// Shared is what a dashboard says of the replicas of a service (GET /replicas).
type Shared struct {
	Service, Leader string
	Members         []string
}

// PIDOf is the process of a replica's name: host, process, chance.
func PIDOf(replica string) int {
	parts := strings.Split(replica, "/")
	if len(parts) != 3 {
		return 0
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return pid
}
