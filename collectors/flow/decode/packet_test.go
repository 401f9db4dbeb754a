package decode

import "github.com/millrace/millrace/internal/testkit/netorder"

// The builders below write datagrams by hand where no real exporter gives what
// a test needs.

type field struct{ element, length uint16 }

var u16, u32 = netorder.U16, netorder.U32

func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func set(id uint16, body ...[]byte) []byte {
	b := join(body...)
	return join(u16(id, uint16(len(b)+setHeader)), b)
}

func fieldList(fields []field) (b []byte) {
	for _, f := range fields {
		b = append(b, u16(f.element, f.length)...)
	}
	return b
}

func template(id uint16, fields ...field) []byte {
	return join(u16(id, uint16(len(fields))), fieldList(fields))
}

// v9Options has its lengths in bytes, ipfixOptions in fields.
func v9Options(id uint16, scopes, options []field) []byte {
	return join(u16(id, uint16(4*len(scopes)), uint16(4*len(options))), fieldList(scopes), fieldList(options))
}

func ipfixOptions(id uint16, scopes, options []field) []byte {
	return join(u16(id, uint16(len(scopes)+len(options)), uint16(len(scopes))), fieldList(scopes), fieldList(options))
}

const exportSeconds = 1_795_264_664

func v9(sequence uint32, sets ...[]byte) []byte {
	return join(u16(9, uint16(len(sets))), u32(10_000, exportSeconds, sequence, 7), join(sets...))
}

func ipfix(sequence uint32, sets ...[]byte) []byte {
	body := join(sets...)
	return join(u16(10, uint16(len(body)+ipfixHeader)), u32(exportSeconds, sequence, 7), body)
}

func v5(sequence uint32, sampling uint16, records int) []byte {
	b := join(u16(5, uint16(records)), u32(10_000, exportSeconds, 5_000_000, sequence), u16(0x0102, sampling))
	for i := range records {
		b = join(b, u32(0x0a000001, 0x0a000002, 0), u16(3, 4), u32(10, 1500+uint32(i), 8_000, 9_000), u16(40000, 443),
			[]byte{0, 0x1b, 6, 0x20}, u16(0, 0, 0x1818, 0))
	}
	return b
}
