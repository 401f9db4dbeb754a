package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/scrub"
	"github.com/millrace/millrace/internal/version"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func supportBundleCommand() *cobra.Command {
	var x examination
	var output string
	var logs []string
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Write what others need to look into a problem into one file, without secrets",
		Long: `Writes a .tar.gz with what ` + "`millrace doctor`" + ` finds, versions, metrics, the last change
sets, drift, stacks of goroutines (which takes a token of the role admin), configuration and
the ends of logs. Passwords, tokens, keys and their like are taken out of all of it, comments
out of configurations. Addresses and names of the network stay in: look at the file before it
leaves your hands. Nothing is sent anywhere.`,
		Example: "  journalctl -u millrace --since -2h > millrace.log\n" +
			"  millrace support-bundle --config /etc/millrace/millrace.yaml --log millrace.log --output bundle.tar.gz",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := newBundle(secretsKnown(x))
			b.collect(cmd, &x, logs)
			if err := b.write(output); err != nil {
				return err
			}
			for _, f := range b.files {
				fmt.Fprintf(cmd.OutOrStdout(), "%8d  %s\n", len(f.text), f.name)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; look at it before you give it away\n", output)
			return nil
		},
	}
	serverFlag(cmd)
	x.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "millrace-support.tar.gz", "file to write")
	cmd.Flags().StringArrayVar(&logs, "log", nil, "a log whose last 4 MiB go into it; may be given several times")
	return cmd
}

// lastChanges is how many change sets are in it.
const lastChanges = 20

// collect adds everything; what cannot be had is named with the reason.
func (b *bundle) collect(cmd *cobra.Command, x *examination, logs []string) {
	b.json("doctor.json", x.examine(cmd), nil)
	b.json("version.json", version.Get(), nil)
	for _, file := range []string{"/etc/os-release", "/proc/version", "/proc/meminfo", "/proc/cpuinfo"} {
		raw, err := os.ReadFile(file)
		b.add("host/"+filepath.Base(file), raw, err)
	}
	for _, file := range []string{x.config, x.agent, inventoryOf(x.config)} {
		if file != "" {
			b.configuration(file)
		}
	}
	for i, file := range logs {
		raw, err := end(file)
		b.add(fmt.Sprintf("logs/%d-%s", i+1, filepath.Base(file)), raw, err)
	}
	if x.offline {
		return
	}
	client, server := apiClient(cmd)
	for name, path := range map[string]string{"metrics": "/metrics", "readyz": "/readyz", "version": version.Path, "goroutines": "/debug/pprof/goroutine?debug=2"} {
		body, _, err := page(cmd, client, trimmed(server)+path)
		raw := new(bytes.Buffer)
		if err == nil {
			_, err = raw.ReadFrom(body)
		}
		b.add("server/"+name, raw.Bytes(), err)
	}
	ctx, changes := cmd.Context(), changeClient(cmd)
	answer(ctx, b, "server/changes.json", changes.List, &pushv1.ListRequest{Limit: lastChanges})
	answer(ctx, b, "server/drift.json", changes.ListDrift, &pushv1.ListDriftRequest{})
}

// answer adds what a call answers.
func answer[Q, A any, P interface {
	*A
	proto.Message
}](ctx context.Context, b *bundle, name string, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) {
	r, err := call(ctx, connect.NewRequest(q))
	var raw []byte
	if err == nil {
		raw, err = protojson.MarshalOptions{Multiline: true}.Marshal(P(r.Msg))
	}
	b.add(name, raw, err)
}

// json adds a value.
func (b *bundle) json(name string, v any, err error) {
	raw, encoding := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = encoding
	}
	b.add(name, raw, err)
}

// configuration adds a file that has settings.
func (b *bundle) configuration(file string) {
	raw, err := os.ReadFile(file)
	clean := ""
	if err == nil {
		clean, err = scrub.YAML(raw, b.secrets)
	}
	b.add("configuration/"+filepath.Base(file), []byte(clean), err)
}

// inventoryOf is the inventory that a configuration names, also where nothing would start with that configuration: the
// secrets of routers are to be removed all the more then. It is empty where the file cannot be read, which doctor says.
func inventoryOf(config string) string {
	if config == "" {
		return ""
	}
	if cfg, err := loadConfig(config); err == nil {
		return cfg.Inventory
	}
	raw, err := os.ReadFile(config)
	named := inventoryLine.FindSubmatch(raw)
	if err != nil || named == nil {
		return ""
	}
	return under(filepath.Dir(config), string(named[1]))
}

// inventoryLine finds the file also in what is no YAML.
var inventoryLine = regexp.MustCompile(`(?m)^inventory:\s*["']?([^"'#\s]+)`)
