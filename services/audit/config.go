package audit

import "fmt"

// Configuration of the audit log, which is kept where identity.mode is on.
type Configuration struct {
	// Records is how many are kept; older ones are dropped. Default 50000.
	Records int `yaml:"records"`
}

// DefaultConfiguration keeps some 30 MB.
func DefaultConfiguration() Configuration { return Configuration{Records: 50_000} }

// leastRecords is more than one transaction drops, so that the record of it is always kept.
const leastRecords = 1000

// Validate says what is wrong and what to write instead.
func (c Configuration) Validate() error {
	if c.Records < leastRecords {
		return fmt.Errorf("records is %d; write at least %d", c.Records, leastRecords)
	}
	return nil
}
