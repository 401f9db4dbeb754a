package houserules

import "testing"

func TestPortsPassedOn(t *testing.T) {
	const listen = "package x\n\nfunc f() string {\n\tl, _ := net.Listen(\"tcp\", \"127.0.0.1:0\")\n"
	check(t, []ruleCase{
		{"a port whose listener is closed", portsPassedOn, map[string]string{"a/x_test.go": listen + "\tdefer l.Close()\n\treturn l.Addr().String()\n}\n"}, []string{"a/x_test.go:3: f returns the port"}},
		{"a listener that goes on", portsPassedOn, map[string]string{"a/x_test.go": listen + "\tgo serve(l)\n\treturn l.Addr().String()\n}\n"}, nil},
		{"a listener that is used", portsPassedOn, map[string]string{"a/x_test.go": listen + "\tdefer l.Close()\n\tdial(l.Addr())\n\treturn \"\"\n}\n"}, nil},
		{"a datagram's port", portsPassedOn, map[string]string{"a/x.go": "package x\n\nfunc f() string {\n\tc, _ := net.ListenPacket(\"udp4\", \"127.0.0.1:0\")\n\tdefer c.Close()\n\treturn c.LocalAddr().String()\n}\n"}, []string{"a/x.go:3: f returns the port"}},
	})
}
