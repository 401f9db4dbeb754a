package main

import (
	"io"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/alpha/report"
)

// reports are the words of --report.
var reports = map[string]func(report.Run, io.Writer) error{
	"text": report.Run.Text, "html": report.Run.HTML, "mail": report.Run.Mail,
}

// listed is how many of the newest change sets are looked at for those that wait.
const listed = 1000

// write prints the report. The run has been made: where services/push does not answer, the report says that instead of
// what waits.
func (o *nightlyFlags) write(cmd *cobra.Command, r *alphav1.NightlyResponse) error {
	nightlyRun := report.Run{At: time.Now(), Response: r, DryRun: o.dryRun}
	list, err := changeClient(cmd).List(cmd.Context(), connect.NewRequest(&pushv1.ListRequest{Limit: listed}))
	if err != nil {
		nightlyRun.Unknown = err.Error()
	} else {
		nightlyRun.Waiting = report.Waiting(list.Msg.GetChanges())
	}
	return reports[o.report](nightlyRun, cmd.OutOrStdout())
}
