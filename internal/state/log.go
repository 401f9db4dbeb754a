package state

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logCore sends what etcd logs to slog, where everything else of this process goes.
type logCore struct {
	zapcore.LevelEnabler
	fields []zapcore.Field
}

// etcdLogger logs errors only until level is raised: when etcd stops it reports
// each of its listeners that closes as an error.
func etcdLogger(level zap.AtomicLevel) *zap.Logger { return zap.New(logCore{LevelEnabler: level}) }

// With implements zapcore.Core.
func (c logCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

// Check implements zapcore.Core.
func (c logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range slices.Concat(c.fields, fields) {
		f.AddTo(values)
	}
	var args []any
	for _, key := range slices.Sorted(maps.Keys(values.Fields)) {
		args = append(args, key, values.Fields[key])
	}
	slog.Log(context.Background(), slog.LevelError, "etcd: "+e.Message, args...)
	return nil
}

// Sync implements zapcore.Core.
func (c logCore) Sync() error { return nil }
