package gnmiclient

import (
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
)

func TestRequireLooksAtVersions(t *testing.T) {
	c := &Client{name: "wr", caps: &gnmi.CapabilityResponse{SupportedModels: []*gnmi.ModelData{
		{Name: "openconfig-qos", Version: "2.2.0"}, {Name: "te-qos-ext", Version: "0.2.0"}, {Name: "odd", Version: "2026-01-01"},
	}}}
	for name, tc := range map[string]struct {
		need Need
		ok   bool
	}{
		"the same version":         {Need{"openconfig-qos", "2.2.0"}, true},
		"an older one is enough":   {Need{"openconfig-qos", "2.0.9"}, true},
		"a newer minor is needed":  {Need{"openconfig-qos", "2.3.0"}, false},
		"a newer patch is needed":  {Need{"openconfig-qos", "2.2.1"}, false},
		"another major is another": {Need{"openconfig-qos", "1.0.0"}, false},
		"before 1.0":               {Need{"te-qos-ext", "0.2.0"}, true},
		"not there":                {Need{"openconfig-acl", "1.0.0"}, false},
		"a version that is a date": {Need{"odd", "1.0.0"}, false},
	} {
		if err := c.Require(tc.need); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
