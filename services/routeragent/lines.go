package routeragent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/millrace/millrace/services/routeragent/intent"
)

// line finds rate and buffer of an interface: what agent.yaml says, else what the driver says.
func (a *Agent) line(name string) (intent.Line, bool) {
	if !a.kernel.HasLink(name) {
		return intent.Line{}, false
	}
	given := a.cfg.Interfaces[name]
	l := intent.Line{Rate: given.Speed, Buffer: given.Buffer}
	if l.Rate == 0 {
		l.Rate = driverSpeed(name)
	}
	if l.Buffer == 0 {
		l.Buffer = l.Rate / 8 / 10
	}
	return l, true
}

// driverSpeed is ethtool's speed in bit/s; 0 if the driver does not know.
func driverSpeed(name string) uint64 {
	raw, err := os.ReadFile(filepath.Join("/sys/class/net", name, "speed"))
	if err != nil {
		return 0
	}
	mbit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil || mbit <= 0 {
		return 0
	}
	return uint64(mbit) * 1e6
}

func (a *Agent) interfaceNames() []string {
	links, err := a.kernel.Links()
	if err != nil {
		a.deps.Log.Error("interfaces not readable", "error", err)
		return nil
	}
	var out []string
	for _, l := range links {
		out = append(out, l.Name)
	}
	return out
}
