package nfcapd

import (
	"context"
	"errors"
	"fmt"
	"io"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// Imported is what became of a file.
type Imported struct {
	Batches, Records, Skipped uint64
}

// Import sends a file to the collector; progress is called with the number of
// records sent so far.
func Import(ctx context.Context, client flowv1connect.FlowCollectorServiceClient, path string, opt Options, progress func(records uint64)) (Imported, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := client.Import(ctx)
	var sent uint64
	skipped, err := Batches(ctx, path, opt, func(b *flowv1.FlowBatch) error {
		if err := stream.Send(&flowv1.ImportRequest{Batch: b}); err != nil {
			return err
		}
		sent += uint64(len(b.GetRecords()))
		progress(sent)
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the collector has the reason
		return Imported{}, fmt.Errorf("import %s: %w", path, err)
	}
	answer, err := stream.CloseAndReceive()
	if err != nil {
		return Imported{}, fmt.Errorf("import %s (is `millrace up` running?): %w", path, err)
	}
	return Imported{answer.Msg.GetBatches(), answer.Msg.GetRecords(), skipped}, nil
}
