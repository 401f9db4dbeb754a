package nsi

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/thirdparty"
)

// A requester that zeep makes of the official WSDL reserves, commits, provisions, modifies and terminates, and every
// answer and callback is valid by the official schemas.
func TestZeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	port := strconv.Itoa(ports.Reserve(t))
	w.mayCall("http://127.0.0.1:" + port + "/nsi/")
	c := w.start()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, thirdparty.Tool(t, "python/bin/python"), "testdata/requester.py",
		"http://"+c.Address()+soapPath, "testdata/ogf", ourNSA, theirNSA, port).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "all of it\n") {
		t.Fatalf("%v\n%s", err, out)
	}
}
