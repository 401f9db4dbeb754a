package main

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	var file, listen string
	var link bool
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "serve NAME",
		Short: "Run one service in a process of its own",
		Long: `Runs one collector or service, which listens where the configuration's endpoints.NAME
says and finds the others by their entries. Of several addresses it takes the one of
this host. The bus must then be Kafka and the
state an etcd cluster, because both are shared between processes.

Services: ` + strings.Join(serviceNames(), ", ") + `.`,
		Example:   "  millrace serve flowstore --config /etc/millrace/millrace.yaml",
		Args:      cobra.ExactArgs(1),
		ValidArgs: serviceNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if !slices.Contains(serviceNames(), name) {
				return coded{fmt.Errorf("no service is called %s; there are %s", name, strings.Join(serviceNames(), ", ")), exitUsage}
			}
			cfg, err := loadConfig(file)
			if err != nil {
				return coded{err, exitUsage}
			}
			if err := provesCallers(cfg); err != nil {
				return coded{err, exitUsage}
			}
			listener, err := serveListener(cfg, name, listen)
			if err != nil {
				return coded{err, exitUsage}
			}
			p, err := newProcess(cmd.Context(), cfg, listener, name)
			if err != nil {
				return err
			}
			p.link, p.drain = link, drain
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (YAML), the same for all services")
	cmd.Flags().StringVar(&listen, "listen", "", "host:port to listen on, where that is not the address of endpoints.NAME, such as :7001 behind a balancer, or where several of its addresses are on this host")
	cmd.Flags().DurationVar(&drain, "drain", 0, "how long to go on after SIGTERM, with /readyz 503, so that balancers and exporters' datagrams go elsewhere before the ports close")
	cmd.Flags().BoolVar(&link, "login-link", false, "print a link by which the person admin logs in, once (serve identity with identity.mode on; its first start prints one without this)")
	return cmd
}

// serveListener opens the port that the endpoints.NAME of other processes name.
func serveListener(cfg *config, name, listen string) (net.Listener, error) {
	if len(cfg.Kafka.Brokers) == 0 {
		return nil, fmt.Errorf("services in processes of their own share a bus: set kafka.brokers, or run `millrace up`")
	}
	if (serviceNamed(name).state || cfg.logins()) && len(cfg.Etcd.Endpoints) == 0 {
		return nil, fmt.Errorf("%s keeps its state, and with logins its audit records, where its replacement finds them: set etcd.endpoints, or run `millrace up`", name)
	}
	own, err := ownAddress(name, cfg.Endpoints[name], onThisHost)
	if err != nil && (listen == "" || len(cfg.Endpoints[name]) == 0) {
		return nil, err
	}
	listen = cmp.Or(listen, own)
	if host, _, err := net.SplitHostPort(listen); err != nil {
		return nil, fmt.Errorf("--listen is %q: write host:port, such as :7001", listen)
	} else if !cfg.TLS.on() && !cfg.TLS.InsecurePlaintext && !loopback(host) {
		return nil, fmt.Errorf("--listen is %s, where other hosts reach %s without TLS: set tls.folder (`millrace ca` makes certificates), or use a loopback address", listen, name)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	return l, nil
}
