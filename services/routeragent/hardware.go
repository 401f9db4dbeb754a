package routeragent

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/millrace/millrace/services/routeragent/intent"
)

// hardware finds speed and buffer of an interface: those of agent.yaml, else the speed that the driver reports, which
// is 0 without a carrier.
func (a *Agent) hardware(name string) (intent.Interface, bool) {
	has, loopback := a.kernel.HasLink(name)
	if !has {
		return intent.Interface{}, false
	}
	given := a.cfg.Interfaces[name]
	i := intent.Interface{Speed: given.Speed, Buffer: given.Buffer, Loopback: loopback, RouterUses: func() (string, error) { return a.kernel.RouterUses(name) }}
	if i.Speed == 0 {
		i.Speed = driverSpeed(cmp.Or(a.deps.Drivers, "/sys/class/net"), name)
	}
	return i, true
}

// driverSpeed is ethtool's speed in bit/s; 0 if the driver does not know, as of a port without a carrier.
func driverSpeed(drivers, name string) uint64 {
	raw, err := os.ReadFile(filepath.Join(drivers, name, "speed"))
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
