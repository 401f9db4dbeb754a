package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	"github.com/millrace/millrace/proto/gen/millrace/audit/v1/auditv1connect"
	"github.com/millrace/millrace/services/audit/chain"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Who did what, in a log that shows whether it was edited"}
	serverFlag(cmd)
	cmd.AddCommand(auditListCommand(), auditVerifyCommand(), auditExportCommand())
	return cmd
}

func auditClient(cmd *cobra.Command) auditv1connect.AuditServiceClient {
	client, server := apiClient(cmd)
	return auditv1connect.NewAuditServiceClient(client, server)
}

func auditListCommand() *cobra.Command {
	request := &auditv1.ListRequest{}
	cmd := &cobra.Command{
		Use: "list", Short: "List what was done, newest first", Example: "  millrace audit list --user ann --procedure Approve", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := auditClient(cmd).List(cmd.Context(), connect.NewRequest(request))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, line := range r.Msg.GetRecords() {
				fmt.Fprintln(cmd.OutOrStdout(), auditLine(line))
			}
			if r.Msg.GetBefore() > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "older ones: --before %d\n", r.Msg.GetBefore())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&request.User, "user", "", "only of users whose name has this in it")
	cmd.Flags().StringVar(&request.Procedure, "procedure", "", "only calls whose name has this in it, such as ChangeService/Approve")
	cmd.Flags().Uint64Var(&request.Before, "before", 0, "only records before this one")
	cmd.Flags().Uint32Var(&request.Limit, "limit", 100, "how many at most, up to 1000")
	jsonFlag(cmd)
	return cmd
}

// auditLine is one record for people. What clients wrote is quoted where it could be mistaken for something else.
func auditLine(r *auditv1.Record) string {
	plain := func(s string) string {
		if q := strconv.Quote(s); q != `"`+s+`"` || strings.Contains(s, " ") {
			return q
		}
		return s
	}
	who := cmp.Or(plain(r.GetUser()), "nobody")
	if r.GetCredentialKind() == "token" {
		who += " (token " + r.GetCredential() + ")"
	}
	if r.GetOnBehalf() != "" {
		who += " for " + plain(r.GetOnBehalf())
	}
	line := fmt.Sprintf("%d  %s  %s  %s  %s  %s", r.GetSeq(), r.GetAt(), who, cmp.Or(r.GetFrom(), "in process"), plain(r.GetProcedure()), auditResult(r))
	if r.GetObject() != "" {
		line += "  object=" + plain(r.GetObject())
	}
	if r.GetReason() != "" {
		line += "  reason=" + plain(r.GetReason())
	}
	if r.GetScope() != "" {
		line += "  limited to " + strconv.Quote(r.GetScope())
	}
	if r.GetTimes() > 0 {
		line += fmt.Sprintf("  and %d more", r.GetTimes())
	}
	return line
}

// auditResult is what came of it, in words.
func auditResult(r *auditv1.Record) string {
	switch {
	case r.GetKind() == auditv1.Kind_KIND_BEGUN:
		return "no result recorded"
	case r.GetKind() == auditv1.Kind_KIND_DROPPED:
		return fmt.Sprintf("records up to %d dropped", r.GetDroppedSeq())
	case r.GetRefusal() != "":
		return fmt.Sprintf("%s (%s)", cmp.Or(r.GetResult(), "refused"), r.GetRefusal())
	}
	return r.GetResult()
}

func auditExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Write all records as JSON lines",
		Long: `Writes all that is kept, one JSON object a line: the anchor, every record, the head.
millrace audit verify --file reads it, on any machine.`,
		Example: "  millrace audit export > audit.jsonl", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := bufio.NewWriter(cmd.OutOrStdout())
			err := auditLines(cmd, func(line *auditv1.ExportResponse) error {
				raw, err := protojson.Marshal(line)
				if err != nil {
					return fmt.Errorf("encode a record as JSON: %w", err)
				}
				_, err = out.Write(append(raw, '\n'))
				return err
			})
			return errors.Join(err, out.Flush())
		},
	}
}

// auditLines reads everything from the server.
func auditLines(cmd *cobra.Command, each func(*auditv1.ExportResponse) error) error {
	s, err := auditClient(cmd).Export(cmd.Context(), connect.NewRequest(&auditv1.ExportRequest{}))
	if err != nil {
		return refusal(err)
	}
	defer s.Close()
	for s.Receive() {
		if err := each(s.Msg()); err != nil {
			return err
		}
	}
	if s.Err() != nil {
		return refusal(s.Err())
	}
	return nil
}

func auditVerifyCommand() *cobra.Command {
	var file string
	var noted []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify that no record was edited, removed, moved or added",
		Long: `Reads all records, of the control plane or of a file that millrace audit export
wrote, and computes every hash anew. It prints the newest mark, SEQ:HASH: note it
elsewhere, since somebody who can write all of etcd can make another log that is whole
in itself. --noted compares with such a mark. The exit code is 3 where something is wrong.`,
		Example: "  millrace audit verify --noted 1042:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			marks, err := marksOf(noted)
			if err != nil {
				return coded{err, exitUsage}
			}
			l, err := auditLog(cmd, file)
			if err != nil {
				return err
			}
			return verdict(cmd, l, marks)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "verify this file instead of the control plane's log; - is standard input")
	cmd.Flags().StringSliceVar(&noted, "noted", nil, "a mark SEQ:HASH that was noted before; may be given several times")
	return cmd
}

// verdict prints what was found.
func verdict(cmd *cobra.Command, l chain.Log, noted []*auditv1.Mark) error {
	problems := chain.Verify(l, noted...)
	for _, p := range problems {
		fmt.Fprintln(cmd.OutOrStdout(), p)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d records after %d; head %d:%s\n", len(l.Records), l.Anchor.GetSeq(), l.Head.GetSeq(), chain.After(l.Head).GetHash())
	if len(problems) > 0 {
		return coded{fmt.Errorf("the audit log is not what was written: %d findings", len(problems)), exitUnmet}
	}
	return nil
}

func marksOf(texts []string) (out []*auditv1.Mark, err error) {
	for _, text := range texts {
		seq, hash, ok := strings.Cut(text, ":")
		n, err := strconv.ParseUint(seq, 10, 64)
		if !ok || err != nil || len(hash) != len(chain.Origin) {
			return nil, fmt.Errorf("--noted %s: write SEQ:HASH as millrace audit verify prints it", text)
		}
		out = append(out, &auditv1.Mark{Seq: n, Hash: strings.ToLower(hash)})
	}
	return out, nil
}

// auditLog collects lines of the server or of a file.
func auditLog(cmd *cobra.Command, file string) (l chain.Log, err error) {
	collect := func(line *auditv1.ExportResponse) error {
		switch {
		case line.GetAnchor() != nil:
			l.Anchor = line.GetAnchor()
		case line.GetHead() != nil:
			l.Head = line.GetHead()
		case line.GetRecord() != nil:
			l.Records = append(l.Records, line.GetRecord())
		}
		return nil
	}
	if file == "" {
		err = auditLines(cmd, collect)
	} else {
		err = auditFile(cmd, file, collect)
	}
	if err == nil && l.Head == nil {
		err = coded{errors.New("the log has no head: it was cut off while it was read or written"), exitUnmet}
	}
	return l, err
}

func auditFile(cmd *cobra.Command, file string, each func(*auditv1.ExportResponse) error) error {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return coded{err, exitUsage}
		}
		defer f.Close()
		in = f
	}
	return readAuditLines(in, each)
}

// longestLine is more than the longest record is.
const longestLine = 1 << 20

func readAuditLines(in io.Reader, each func(*auditv1.ExportResponse) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		line := &auditv1.ExportResponse{}
		if err := protojson.Unmarshal(lines.Bytes(), line); err != nil {
			return coded{fmt.Errorf("line %d is none of millrace audit export: %w", n, err), exitUnmet}
		}
		if err := each(line); err != nil {
			return err
		}
	}
	return lines.Err()
}
