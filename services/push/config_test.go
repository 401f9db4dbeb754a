package push

import (
	"strings"
	"testing"
	"time"
)

func TestConfigurationsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Configuration)
		says   string
	}{
		{"the defaults", func(*Configuration) {}, ""},
		{"no time for a commit's confirmation", func(c *Configuration) { c.RollbackAfter = 0 }, "rollback_after is 0s"},
		{"no time to verify", func(c *Configuration) { c.VerifyFor = 0 }, "verify_for is 0s"},
		{"a call before it begins", func(c *Configuration) { c.CallTimeout = -time.Second }, "call_timeout is -1s"},
		{"no time to commit", func(c *Configuration) { c.CommitTimeout = 0 }, "commit_timeout is 0s"},
		{"no time to predict", func(c *Configuration) { c.PredictTimeout = 0 }, "predict_timeout is 0s"},
		{"locks that end at once", func(c *Configuration) { c.LockTTL = 0 }, "lock_ttl is 0s"},
		{"routers that install nothing", func(c *Configuration) { c.CommitRate = 0 }, "commit_rate is 0"},
		{"rollback before the end of the verification", func(c *Configuration) { c.RollbackAfter, c.VerifyFor = 20*time.Second, 30*time.Second }, "must be longer than verify_for"},
		{"rollback at the end of the verification", func(c *Configuration) { c.RollbackAfter = c.VerifyFor }, "must be longer than verify_for"},
		{"rollback just after the verification", func(c *Configuration) { c.RollbackAfter = c.VerifyFor + 1 }, ""},
		{"plans kept for less than nothing", func(c *Configuration) { c.Keep.For = -1 }, "keep has"},
		{"fewer than no plans kept", func(c *Configuration) { c.Keep.Changes = -1 }, "keep has"},
		{"plans of less than nothing kept", func(c *Configuration) { c.Keep.MaxOctets = -1 }, "keep has"},
		{"fewer records than plans", func(c *Configuration) { c.Keep.Records = 199 }, "keep.records (199)"},
		{"records kept for less than plans", func(c *Configuration) { c.Keep.RecordsFor = 24 * time.Hour }, "keep.records_for (24h0m0s)"},
		{"records kept for less than the budget's night", func(c *Configuration) { c.Keep.For, c.Keep.RecordsFor = time.Hour, 24*time.Hour }, "keep.records_for (24h0m0s)"},
		{"all records kept", func(c *Configuration) { c.Keep.Records, c.Keep.RecordsFor = 0, 0 }, ""},
		{"plans kept for ever", func(c *Configuration) { c.Keep.For = 0 }, ""},
	} {
		c := DefaultConfiguration()
		tt.change(&c)
		if err := c.Validate(); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}
