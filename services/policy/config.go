package policy

// Configuration of the policy service.
type Configuration struct {
	// Dir is a folder of the operator's own policy files. Empty: the policies that ship with Millrace.
	Dir string `yaml:"dir"`
}

// DefaultConfiguration serves the shipped policies.
func DefaultConfiguration() Configuration { return Configuration{} }
