//go:build k8s

package k8s

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// portsHeard compares what the pod's program hears on outside of the loopback with what is written.
func (w *world) portsHeard(t *testing.T) {
	var heard []string
	for table, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		for _, line := range strings.Split(w.node.Run(t, "cat", "/proc/"+w.pid(t, "up")+"/net/"+table), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != state || loopback(f[1]) {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			heard = append(heard, fmt.Sprintf("%d/%s", port, table[:3]))
		}
	}
	slices.Sort(heard)
	var ports []struct {
		ContainerPort int
		Protocol      string
	}
	if err := json.Unmarshal([]byte(w.node.Kubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.containers[0].ports}")), &ports); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, p := range ports {
		named = append(named, fmt.Sprintf("%d/%s", p.ContainerPort, strings.ToLower(p.Protocol)))
	}
	slices.Sort(named)
	if d := cmp.Diff(slices.Compact(heard), named); d != "" {
		t.Errorf("heard (-) and named by the chart (+):\n%s", d)
	}
	i, err := tarball.ImageFromPath(*image, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := i.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for exposed := range c.Config.ExposedPorts {
		if !slices.Contains(heard, exposed) {
			t.Errorf("the image exposes %s, which nothing hears", exposed)
		}
	}
	if len(c.Config.ExposedPorts) == 0 {
		t.Error("the image exposes nothing")
	}
}

// loopback reports it of an address in /proc/net: little-endian words in hexadecimal.
func loopback(address string) bool {
	return strings.HasPrefix(address, "0100007F:") || strings.HasPrefix(address, "00000000000000000000000001000000:") ||
		strings.HasPrefix(address, "0000000000000000FFFF00000100007F:")
}
