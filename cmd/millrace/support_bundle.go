package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/scrub"
	"github.com/millrace/millrace/internal/version"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
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
			b := scrub.NewBundle(secretsKnown(x))
			collect(b, cmd, &x, logs)
			if err := writeBundle(b, output); err != nil {
				return err
			}
			for _, f := range b.Files {
				fmt.Fprintf(cmd.OutOrStdout(), "%8d  %s\n", len(f.Text), f.Name)
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
func collect(b *scrub.Bundle, cmd *cobra.Command, x *examination, logs []string) {
	b.AddJSON("doctor.json", x.examine(cmd))
	b.AddJSON("version.json", version.Get())
	for _, file := range []string{"/etc/os-release", "/proc/version", "/proc/meminfo", "/proc/cpuinfo"} {
		raw, err := os.ReadFile(file)
		b.Add("host/"+filepath.Base(file), raw, err)
	}
	for _, file := range []string{x.config, x.agent, inventoryOf(x.config)} {
		if file != "" {
			b.AddYAML("configuration/"+filepath.Base(file), file)
		}
	}
	for i, file := range logs {
		b.AddEnd(fmt.Sprintf("logs/%d-%s", i+1, filepath.Base(file)), file)
	}
	if x.offline {
		return
	}
	client, server := apiClient(cmd)
	client.Timeout = x.patience
	for name, path := range map[string]string{"metrics": "/metrics", "readyz": "/readyz", "version": version.Path, "goroutines": "/debug/pprof/goroutine?debug=2"} {
		body, _, err := page(cmd, client, trimmed(server)+path)
		raw := new(bytes.Buffer)
		if err == nil {
			_, err = raw.ReadFrom(body)
		}
		b.Add("server/"+name, raw.Bytes(), err)
	}
	ctx, changes := cmd.Context(), pushv1connect.NewChangeServiceClient(client, server)
	answer(ctx, b, "server/changes.json", changes.List, &pushv1.ListRequest{Limit: lastChanges})
	answer(ctx, b, "server/drift.json", changes.ListDrift, &pushv1.ListDriftRequest{})
}

// answer adds what a call answers.
func answer[Q, A any, P interface {
	*A
	proto.Message
}](ctx context.Context, b *scrub.Bundle, name string, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) {
	r, err := call(ctx, connect.NewRequest(q))
	var raw []byte
	if err == nil {
		raw, err = protojson.MarshalOptions{Multiline: true}.Marshal(P(r.Msg))
	}
	b.Add(name, raw, err)
}

// writeBundle writes the file, readable for its owner only: names and addresses of the network are in it.
func writeBundle(b *scrub.Bundle, output string) error {
	f, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return coded{fmt.Errorf("write the bundle: %w", err), exitUsage}
	}
	if err := ownersAlone(f); err != nil {
		return errors.Join(coded{fmt.Errorf("write the bundle: %w", err), exitUsage}, f.Close())
	}
	return errors.Join(b.Write(f, "millrace-support"), f.Close())
}

// ownersAlone gives a file that was there before the mode of a new one. What is no file, such as /dev/stdout, is left
// alone.
func ownersAlone(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Chmod(0o600)
}

// secretsKnown are those on this host that have no form of their own: the contents of files that the
// configurations name, and the tokens of the user.
func secretsKnown(x examination) []string {
	all := logins.Secrets()
	for _, file := range []string{x.config, x.agent, inventoryOf(x.config)} {
		if raw, err := os.ReadFile(file); err == nil {
			all = append(all, scrub.Settings(raw, filepath.Dir(file))...)
		}
	}
	return all
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
	return scrub.Under(filepath.Dir(config), string(named[1]))
}

// inventoryLine finds the file also in what is no YAML.
var inventoryLine = regexp.MustCompile(`(?m)^inventory:\s*["']?([^"'#\s]+)`)
