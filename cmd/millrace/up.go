package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/dashboard"
)

func upCommand() *cobra.Command {
	var file string
	var listenFD int
	var check, dump, link bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole control plane in one process",
		Long: `Runs every collector and service in this process, with an embedded etcd, an
embedded ClickHouse engine and an in-process bus unless the configuration names
clusters. The dashboard and all APIs share one port, on the loopback by default.`,
		Example: `  millrace up --config /etc/millrace/millrace.yaml
  millrace up --dump > millrace.yaml     # every setting with its default
  millrace up --config millrace.yaml --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dump && file == "" {
				return dumpConfig(cmd, defaultConfig(defaultDataDir))
			}
			cfg, err := loadConfig(file)
			if err != nil {
				return coded{err, exitUsage}
			}
			if dump {
				return dumpConfig(cmd, cfg)
			}
			if check {
				if err := checkInventory(cfg.Inventory); err != nil {
					return coded{err, exitUsage}
				}
				fmt.Fprintln(cmd.OutOrStdout(), "the configuration is complete and every setting is known")
				return nil
			}
			listener, err := inherited(listenFD)
			if err != nil {
				return coded{err, exitUsage}
			}
			p, err := newProcess(cmd.Context(), cfg, listener, serviceNames()...)
			if err != nil {
				return err
			}
			p.link = link
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (YAML)")
	cmd.Flags().IntVar(&listenFD, "listen-fd", 0, "serve the dashboard on this already listening descriptor")
	cmd.Flags().BoolVar(&check, "check", false, "check the configuration and exit")
	cmd.Flags().BoolVar(&link, "login-link", false, "print a link by which the person admin logs in, once (identity.mode on; the first start prints one without this)")
	cmd.Flags().BoolVar(&dump, "dump", false, "print the configuration with all defaults and exit")
	return cmd
}

// checkInventory refuses an inventory that the start would refuse. Files that are missing may be on another host.
func checkInventory(file string) error {
	inventory, err := device.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(inventory.Devices) == 0 {
		return nil
	}
	if err := inventory.CheckTLS(); err != nil {
		return fmt.Errorf("inventory %s: %w", file, err)
	}
	return nil
}

// inherited takes over a socket the parent opened, for instance in another network namespace.
func inherited(fd int) (net.Listener, error) {
	if fd == 0 {
		return nil, nil
	}
	if fd <= int(os.Stderr.Fd()) {
		return nil, errors.New("--listen-fd: descriptors 0 to 2 are the standard streams")
	}
	return dashboard.InheritedListener(uintptr(fd))
}

func dumpConfig(cmd *cobra.Command, cfg *config) error {
	raw, err := yaml.Marshal(cfg.document.Interface())
	if err != nil {
		return fmt.Errorf("encode configuration: %w", err)
	}
	_, err = cmd.OutOrStdout().Write(raw)
	return err
}
