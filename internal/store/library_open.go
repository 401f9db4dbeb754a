//go:build !static

package store

import (
	"fmt"

	"github.com/ebitengine/purego"
)

func openLibrary(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load the ClickHouse engine library %s: %w", path, err)
	}
	return bindLibrary(path, handle)
}

func bindLibrary(path string, handle uintptr) (*library, error) {
	l := &library{}
	for name, f := range map[string]any{
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_query_n":                     &l.query,
		"chdb_stream_query_n":              &l.streamQuery,
		"chdb_stream_fetch_result":         &l.streamFetch,
		"chdb_stream_cancel_query":         &l.streamCancel,
		"chdb_destroy_query_result":        &l.destroy,
		"chdb_result_buffer":               &l.buffer,
		"chdb_result_length":               &l.length,
		"chdb_result_error":                &l.errorText,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s is not the engine library this build needs (no %s); run `make setup`: %w", path, name, err)
		}
		purego.RegisterFunc(f, symbol)
	}
	return l, nil
}
