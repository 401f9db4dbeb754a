package shares

// Bounds of a queue's buffer, bytes.
const (
	minBuffer = 1600 // one packet of an Ethernet link between routers
	maxBuffer = 1 << 30
)

// Buffer is the buffer that a queue has on a router where a policy gives it so many bytes.
func Buffer(bytes uint64) uint64 { return min(max(bytes, minBuffer), maxBuffer) }
