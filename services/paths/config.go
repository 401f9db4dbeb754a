package paths

// Configuration of the path service. It has nothing to set yet: the topology
// comes over the bus, constraints come with each request.
type Configuration struct{}

// Validate has nothing to refuse.
func (c Configuration) Validate() error { return nil }

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration { return Configuration{} }
