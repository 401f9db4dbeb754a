package routeragent_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/services/routeragent"
)

func check01(t *testing.T) {
	x := newTarget(t)
	r, err := x.client.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r.GetGNMIVersion() != "0.10.0" {
		t.Errorf("version %q", r.GetGNMIVersion())
	}
	for _, e := range []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF} {
		if !slices.Contains(r.GetSupportedEncodings(), e) {
			t.Errorf("encoding %s is missing", e)
		}
	}
	versions := map[string]string{}
	for _, m := range r.GetSupportedModels() {
		versions[m.GetName()] = m.GetVersion()
		if m.GetVersion() == "" || m.GetOrganization() == "" {
			t.Errorf("model %s has version %q and organization %q", m.GetName(), m.GetVersion(), m.GetOrganization())
		}
	}
	for _, name := range []string{"openconfig-interfaces", "openconfig-qos", "openconfig-network-instance", "openconfig-policy-forwarding", "openconfig-mpls", "openconfig-defined-sets", "te-qos-ext", "te-lsdb-ext", "te-agent-ext", "te-circuit-ext", "te-lsp-ext"} {
		if versions[name] == "" {
			t.Errorf("model %s has no version; models: %v", name, versions)
		}
	}
}

func check02(t *testing.T) {
	x := newTarget(t)
	plain, err := grpc.NewClient("passthrough:///"+x.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	x.refusesToTalk(t, "plaintext", plain)
	// Bytes in the clear get nothing but a TLS alert or the end of the connection.
	c, err := net.Dial("tcp", x.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	// The target closes the connection; a reset is an end, too.
	if b, _ := io.ReadAll(c); len(b) > 0 && b[0] != 0x15 {
		t.Errorf("plaintext was answered with % x, want a TLS alert (15) or nothing", b)
	}
}

// refusesToTalk calls Capabilities and wants no answer.
func (x *target) refusesToTalk(t *testing.T, who string, conn *grpc.ClientConn) {
	t.Helper()
	defer conn.Close()
	if _, err := gnmi.NewGNMIClient(conn).Capabilities(t.Context(), &gnmi.CapabilityRequest{}); codeOf(err) != codes.Unavailable {
		t.Errorf("%s: %v, want no connection", who, err)
	}
}

func check03(t *testing.T) {
	x := newTarget(t)
	stranger := pki.New(t)
	foreign, err := tls.LoadX509KeyPair(stranger.Issue(t, "operator"))
	if err != nil {
		t.Fatal(err)
	}
	noCert, otherCA, tls11 := x.clientTLS("operator"), x.clientTLS("operator"), x.clientTLS("operator")
	noCert.Certificates = nil
	otherCA.Certificates = []tls.Certificate{foreign}
	tls11.MaxVersion, tls11.MinVersion = tls.VersionTLS11, tls.VersionTLS10
	x.refusesToTalk(t, "no certificate", x.dial(noCert))
	x.refusesToTalk(t, "a certificate of another CA", x.dial(otherCA))
	x.refusesToTalk(t, "TLS 1.1", x.dial(tls11))

	x.stop()
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"noc": routeragent.RoleViewer, "te": routeragent.RoleOperator})
	x.start()
	_, err = x.client.Capabilities(as(t, "noc", "right-noc"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	for name, ctx := range map[string]context.Context{
		"a wrong password":            as(t, "noc", "wrong"),
		"somebody unknown":            as(t, "nobody", "right-noc"),
		"another's password":          as(t, "noc", "right-te"),
		"no password, another's name": metadata.AppendToOutgoingContext(t.Context(), "username", "te"),
		"a password without a name":   metadata.AppendToOutgoingContext(t.Context(), "password", "right-te"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := x.client.Get(ctx, &gnmi.GetRequest{})
			wantCode(t, err, codes.Unauthenticated)
			s, err := x.client.Subscribe(ctx)
			if err == nil {
				_, err = s.Recv()
			}
			wantCode(t, err, codes.Unauthenticated)
			_, err = x.client.Set(ctx, x.request("delete /"))
			wantCode(t, err, codes.Unauthenticated)
		})
	}

	// With certificates optional, TLS and a right password are enough, and nothing less is.
	x.stop()
	x.cfg.TLS.ClientCertificates = routeragent.CertificatesOptional
	x.start()
	conn := x.dial(noCert)
	defer conn.Close()
	bare := gnmi.NewGNMIClient(conn)
	_, err = bare.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.Unauthenticated)
	_, err = bare.Set(as(t, "te", "right-te"), &gnmi.SetRequest{})
	wantCode(t, err, codes.OK)
	x.refusesToTalk(t, "a certificate of another CA", x.dial(otherCA))
}

// usersFile makes users whose password is "right-" and their name.
func usersFile(t *testing.T, roles map[string]routeragent.Role) string {
	t.Helper()
	text := "users:\n"
	for name, role := range roles {
		hash, err := bcrypt.GenerateFromPassword([]byte("right-"+name), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		text += "  - {name: " + name + ", password: " + string(hash) + ", role: " + string(role) + "}\n"
	}
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func as(t *testing.T, name, password string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "username", name, "password", password)
}

func check04(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles = map[string]routeragent.Role{"watcher": routeragent.RoleViewer, "operator": routeragent.RoleOperator}
	x.cfg.UnitRoles = map[string]routeragent.Role{"te": routeragent.RoleOperator, "noc": routeragent.RoleViewer}
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"bob": routeragent.RoleViewer, "eve": routeragent.RoleOperator})
	x.start()
	before, config := x.dump(), x.config("/")
	write := func(ctx context.Context, tc *tls.Config) codes.Code {
		conn := x.dial(tc)
		defer conn.Close()
		c := gnmi.NewGNMIClient(conn)
		if _, err := c.Get(ctx, &gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF}); err != nil {
			t.Errorf("reading is refused: %v", err)
		}
		_, err := c.Set(ctx, x.request("update /qos/queues/queue[name=x]/config/queue-id 1"))
		return codeOf(err)
	}
	plain := t.Context()
	for _, c := range []struct {
		who  string
		ctx  context.Context
		tls  *tls.Config
		want codes.Code
	}{
		{"a viewer by common name", plain, x.clientTLS("watcher"), codes.PermissionDenied},
		{"a viewer by unit", plain, x.unitTLS("alice", "noc"), codes.PermissionDenied},
		{"a viewer by password, with an operator's certificate", as(t, "bob", "right-bob"), x.clientTLS("operator"), codes.PermissionDenied},
	} {
		if got := write(c.ctx, c.tls); got != c.want {
			t.Errorf("%s: %s, want %s", c.who, got, c.want)
		}
	}
	for who, tc := range map[string]*tls.Config{"somebody without a role": x.clientTLS("stranger"), "somebody of a unit without a role": x.unitTLS("dave", "sales"), "a router": x.clientTLS("another-router")} {
		conn := x.dial(tc)
		defer conn.Close()
		c := gnmi.NewGNMIClient(conn)
		_, err := c.Get(plain, &gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF})
		_, err2 := c.Set(plain, x.request("delete /"))
		_, err3 := c.Capabilities(plain, &gnmi.CapabilityRequest{})
		for _, err := range []error{err, err2, err3} {
			if codeOf(err) != codes.PermissionDenied {
				t.Errorf("%s: %v, want PERMISSION_DENIED", who, err)
			}
		}
	}
	if diff := cmp.Diff(before+config, x.dump()+x.config("/")); diff != "" {
		t.Errorf("a viewer changed (-before +after):\n%s", diff)
	}
	for who, got := range map[string]codes.Code{
		"an operator by common name": write(plain, x.clientTLS("operator")),
		"an operator by unit":        write(plain, x.unitTLS("carol", "te")),
		"an operator by password":    write(as(t, "eve", "right-eve"), x.clientTLS("watcher")),
	} {
		if got != codes.OK {
			t.Errorf("%s: %s, want OK", who, got)
		}
	}
}

func check46(t *testing.T) {
	x := newTarget(t)
	s, err := reflectpb.NewServerReflectionClient(x.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(req *reflectpb.ServerReflectionRequest) *reflectpb.ServerReflectionResponse {
		if err := s.Send(req); err != nil {
			t.Fatal(err)
		}
		r, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var names []string
	for _, one := range ask(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, one.GetName())
	}
	if !slices.Contains(names, "gnmi.gNMI") || !slices.Contains(names, "grpc.health.v1.Health") {
		t.Errorf("reflection lists %v", names)
	}
	file := ask(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "gnmi.gNMI.Subscribe"}})
	if raw := file.GetFileDescriptorResponse().GetFileDescriptorProto(); len(raw) == 0 || !strings.Contains(string(raw[0]), "SubscribeRequest") {
		t.Errorf("reflection does not describe gnmi.gNMI: %v", file)
	}
	h, err := healthpb.NewHealthClient(x.conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "gnmi.gNMI"})
	if err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
}
