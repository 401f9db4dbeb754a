package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/scenario"
)

// feature is something a kernel may lack, and the proof that it does not.
type feature struct {
	name string
	try  func() error
}

// features lists what the scenario needs of the kernel that carries it.
func features(s *scenario.Scenario) []feature {
	list := []feature{
		{"veth", ip("link add pa type veth peer name pb")},
		{"bridge", ip("link add pr type bridge")},
		{"tbf", tc("qdisc add dev pa root tbf rate 1mbit burst 4000 limit 10000")},
		{"htb", tc("qdisc add dev pb root handle 1: htb default 1")},
		{"clsact", tc("qdisc add dev pa clsact")},
	}
	for _, l := range s.Links {
		if l.Delay > 0 || l.Loss > 0 {
			list = append(list,
				feature{"netem", tc("qdisc replace dev pb root netem limit 10 delay 1ms")},
				feature{"matchall and mirred", tc("filter add dev pa ingress matchall action mirred egress redirect dev pb")})
			break
		}
	}
	if s.IGP.SegmentRouting {
		list = append(list,
			feature{"mpls", procFile("/proc/sys/net/mpls/platform_labels")},
			feature{"mpls encapsulation of IP", func() error {
				return errors.Join(ip("address add 192.0.2.1/24 dev pa")(), ip("link set pa up")(), ip("route add 198.51.100.0/24 encap mpls 16001 via 192.0.2.2")())
			}})
	}
	for _, cc := range s.CongestionControls() {
		list = append(list, feature{"tcp_" + cc, congestionControl(cc)})
	}
	return list
}

func ip(line string) func() error { return tool("ip", line) }
func tc(line string) func() error { return tool("tc", line) }

func tool(name, line string) func() error {
	return func() error {
		out, err := exec.Command(name, strings.Fields(line)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %s", name, line, strings.TrimSpace(string(out)))
		}
		return nil
	}
}

func procFile(path string) func() error {
	return func() error {
		_, err := os.Stat(path)
		return err
	}
}

// congestionControl selects the algorithm on a socket, which also loads its module.
func congestionControl(name string) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	}
}

// missing tries every feature in a network namespace that is thrown away, and
// names those this kernel lacks.
func missing(s *scenario.Scenario) ([]string, error) {
	for _, m := range []string{"mpls_router", "mpls_iptunnel", "sch_netem", "sch_htb", "sch_tbf"} {
		_ = exec.Command("modprobe", "-q", m).Run() // a kernel without modules answers by the probe
	}
	var names []string
	err := inNamespaces(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a namespace to probe the kernel in: %w", err)
		}
		for _, f := range features(s) {
			if err := f.try(); err != nil {
				names = append(names, f.name)
			}
		}
		return nil
	})
	return names, err
}

// choose settles the backend, or names the feature that the requested one lacks.
func choose(s *scenario.Scenario, want Backend) (Backend, error) {
	if err := programs(s); err != nil {
		return "", err
	}
	if want != UML {
		lacks, err := missing(s)
		if err != nil {
			return "", err
		}
		if len(lacks) == 0 {
			return Native, nil
		}
		if want == Native {
			return "", fmt.Errorf("backend native: this kernel lacks %s, which scenario %s needs; load the modules or use --backend uml",
				strings.Join(lacks, ", "), s.Name)
		}
	}
	if runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("backend uml: User-Mode Linux exists for amd64 only, this is %s", runtime.GOARCH)
	}
	for _, path := range []string{"/dev/net/tun", "/usr/lib/uml/modules"} {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("backend uml: %s is missing; install the package user-mode-linux and load the module tun", path)
		}
	}
	if _, err := exec.LookPath("linux.uml"); err != nil {
		return "", errors.New("backend uml: linux.uml is missing; install the package user-mode-linux")
	}
	return UML, nil
}

// programs checks what is run besides our own binary, and names the packages.
func programs(s *scenario.Scenario) error {
	need := [][2]string{{"ip", "iproute2"}, {"tc", "iproute2"}, {"vtysh", "frr"}, {"modprobe", "kmod"}, {"ping", "iputils-ping"}}
	for _, r := range s.Routers {
		if r.NetFlow != nil {
			need = append(need, [2]string{"softflowd", "softflowd"})
			break
		}
	}
	var lacks []string
	for _, n := range need {
		if _, err := exec.LookPath(n[0]); err != nil {
			lacks = append(lacks, n[1])
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("programs are missing; run: apt-get install %s", strings.Join(lacks, " "))
	}
	return nil
}
