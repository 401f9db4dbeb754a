package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/backup"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/version"
	"github.com/millrace/millrace/services/flowstore"
)

func backupCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "backup FOLDER",
		Short: "Write everything that the control plane keeps into a folder",
		Long: `Writes etcd (pairs, change sets, weights; as of one revision) and the tables of
ClickHouse into a new folder, with checksums. Embedded stores have one process at
a time: stop the control plane first. Servers are read while it runs.`,
		Example: "  runuser -u millrace -- millrace backup --config /etc/millrace/millrace.yaml /var/backups/millrace/2026-07-01",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStores(cmd.Context(), file, true, func(s backup.Stores) error {
				m, err := backup.Write(cmd.Context(), s, filepath.Clean(args[0]), version.Get().Version, time.Now())
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s has %s\n", args[0], contentsOf(m))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (YAML) with the addresses of the stores")
	return cmd
}

func restoreCommand() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FOLDER",
		Short: "Fill empty stores from a backup",
		Long: `Fills etcd and ClickHouse from a folder that millrace backup wrote, after it has
compared every file with its checksum and looked at both stores. The stores of
before and after may be embedded or servers, independently. Stop the control
plane first. A restore that is interrupted leaves a mark in both stores: nothing
starts with them until it is run again with --force.`,
		Example: "  runuser -u millrace -- millrace restore --config /etc/millrace/millrace.yaml /var/backups/millrace/2026-07-01",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStores(cmd.Context(), file, false, func(s backup.Stores) error {
				m, err := backup.Restore(cmd.Context(), s, filepath.Clean(args[0]), force)
				if err != nil && cmd.Context().Err() != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "millrace:", err) // the process ends without a word after a signal
				}
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "restored %s\n", contentsOf(m))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (YAML) with the addresses of the stores")
	cmd.Flags().BoolVar(&force, "force", false, "delete what the stores have first")
	return cmd
}

func contentsOf(m backup.Manifest) string {
	rows := uint64(0)
	for _, t := range m.Tables {
		rows += t.Rows
	}
	return fmt.Sprintf("%d keys of etcd at revision %d and %d rows of %d tables, written %s by millrace %s",
		m.Etcd.Keys, m.Etcd.Revision, rows, len(m.Tables), m.Written.Format(time.RFC3339), m.Millrace)
}

// transferTimeout bounds the reading of one partition.
const transferTimeout = 24 * time.Hour

// withStores opens both stores and closes them afterwards. Embedded ones that are not there are made, unless they must
// exist.
func withStores(ctx context.Context, file string, mustExist bool, do func(backup.Stores) error) (err error) {
	cfg, err := loadConfig(file)
	if err != nil {
		return coded{err, exitUsage}
	}
	if err := cfg.ownData(); err != nil {
		return err
	}
	known, err := flowstore.KnownSchema()
	if err != nil {
		return err
	}
	s := backup.Stores{Schema: flowstore.Schema, Migrate: flowstore.Migrate, Known: known}
	opened, err := openEtcd(ctx, cfg, mustExist)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close(context.WithoutCancel(ctx))) }()
	s.State = opened.store
	tables := cfg.settings("flowstore").(flowstore.Configuration).Store
	tables.MaxExecutionTime, tables.SendTimeout = transferTimeout, transferTimeout
	if len(tables.Servers) == 0 && mustExist {
		if err := exists(tables.Directory); err != nil {
			return err
		}
	}
	if s.DB, err = store.Open(ctx, tables); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.DB.Close()) }()
	return do(s)
}

type openedEtcd struct {
	store *state.Store
	close func(context.Context) error
}

func openEtcd(ctx context.Context, cfg *config, mustExist bool) (openedEtcd, error) {
	if len(cfg.Etcd.Endpoints) > 0 {
		s, _, err := cfg.Etcd.dial(mtls.Dependencies{})
		if err != nil {
			return openedEtcd{}, err
		}
		return openedEtcd{s, func(context.Context) error { return s.Close() }}, nil
	}
	folder := filepath.Join(cfg.DataDir, "etcd")
	if mustExist {
		if err := exists(folder); err != nil {
			return openedEtcd{}, err
		}
	}
	embedded := state.NewEmbedded(folder, state.Quota(cfg.Etcd.Quota))
	if err := embedded.Start(ctx); err != nil {
		return openedEtcd{}, err
	}
	return openedEtcd{embedded.Store(), embedded.Stop}, nil
}

// exists refuses to back up what was never there: the folder in the configuration is wrong then.
func exists(folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("there is nothing to back up in data_dir: %w", err)
	}
	return nil
}
