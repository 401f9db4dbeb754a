package bus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"google.golang.org/protobuf/encoding/protowire"
)

// waitingFile has the messages that a group had not taken when the process stopped, oldest first: a head, the number of
// messages, and for each its length, its checksum and its fields. It is written whole or not at all, so that only a
// disk can damage it.
type waitingFile struct{ topic, group, name string }

// waitingHead ends in the version of what follows it.
const waitingHead = "millrace waiting messages 1\n"

// Numbers of a message's fields; a reader skips others.
const (
	waitingKey   protowire.Number = 1
	waitingValue protowire.Number = 2
	waitingTrace protowire.Number = 3
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	// laterHead is the head of a file that a newer process has written.
	laterHead = regexp.MustCompile(`^millrace waiting messages ([2-9]|[1-9][0-9]+)\n`)
	// ErrNewer means that messages wait in a form that this process does not read.
	ErrNewer = errors.New("a newer millrace has written them: start that one, which stores them at its start and leaves none at its stop")
	// errDamaged is what a file ends in where a message should be.
	errDamaged = errors.New("damaged")
)

// waitingIn is the file of a topic's keeper in a folder.
func waitingIn(folder, topic string) waitingFile {
	group := Keepers[topic]
	return waitingFile{topic, group, filepath.Join(folder, group+"@"+topic+".waiting")}
}

// read returns the messages and how many cannot be read any longer. A damaged file stays under a name of its own.
func (w waitingFile) read() (messages []Message, lost int, err error) {
	f, err := os.Open(w.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	messages, lost, err = readWaiting(bufio.NewReaderSize(f, 1<<20), w.topic)
	if !errors.Is(err, errDamaged) {
		return messages, lost, err
	}
	if err := w.setAside(); err != nil {
		return nil, 0, fmt.Errorf("set a damaged file aside: %w", err)
	}
	return messages, lost, nil
}

// setAside gives the file a second name: the first that is free, or that it has from the start before.
func (w waitingFile) setAside() error {
	for n := 1; ; n++ {
		aside := w.name + ".damaged"
		if n > 1 {
			aside += fmt.Sprint("-", n)
		}
		err := os.Link(w.name, aside)
		if errors.Is(err, fs.ErrExist) && !sameFile(w.name, aside) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		slog.Error("a file with messages that wait is damaged, and stays for somebody to look at it", "file", aside)
		return nil
	}
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// write replaces the file. After an error the one of before is still there.
func (w waitingFile) write(messages []Message) error {
	f, err := os.CreateTemp(filepath.Dir(w.name), filepath.Base(w.name)+".part-*")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = writeWaiting(out, messages)
	err = errors.Join(err, out.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), w.name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", w.name, err), os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(w.name))
}

// remove is for when every message is kept elsewhere.
func (w waitingFile) remove() error {
	if err := os.Remove(w.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(filepath.Dir(w.name))
}

// removeParts removes what a process that died while it wrote has left.
func (w waitingFile) removeParts() error {
	parts, err := filepath.Glob(w.name + ".part-*")
	for _, p := range parts {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func writeWaiting(w io.Writer, messages []Message) error {
	head := binary.BigEndian.AppendUint32([]byte(waitingHead), uint32(len(messages)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, m := range messages {
		body := appendField(nil, waitingKey, []byte(m.Key))
		body = appendField(body, waitingValue, m.Value)
		body = appendField(body, waitingTrace, []byte(m.Trace))
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		frame = binary.BigEndian.AppendUint32(frame, crc32.Checksum(body, castagnoli))
		if _, err := w.Write(append(frame, body...)); err != nil {
			return err
		}
	}
	return nil
}

func appendField(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

// maxWaiting bounds what a damaged length has allocated: a message, its key and its trace.
const maxWaiting = MaxMessage + 1<<16

// readWaiting returns the messages before the first that is damaged; lost is how many are not among them, 1 where even
// their number is not known. The error is of errDamaged then, and another one if the disk does not answer.
func readWaiting(r io.Reader, topic string) (messages []Message, lost int, err error) {
	head := make([]byte, len(waitingHead)+4)
	if err := readFull(r, head); err != nil {
		return nil, 1, err
	}
	if laterHead.Match(head) {
		return nil, 0, ErrNewer
	}
	if !bytes.HasPrefix(head, []byte(waitingHead)) {
		return nil, 1, fmt.Errorf("the head: %w", errDamaged)
	}
	count := int(binary.BigEndian.Uint32(head[len(waitingHead):]))
	for len(messages) < count {
		m, err := readMessage(r, topic)
		if err != nil {
			return messages, count - len(messages), err
		}
		messages = append(messages, m)
	}
	return messages, 0, nil
}

func readMessage(r io.Reader, topic string) (Message, error) {
	var frame [8]byte
	if err := readFull(r, frame[:]); err != nil {
		return Message{}, err
	}
	length := binary.BigEndian.Uint32(frame[:4])
	if length > maxWaiting {
		return Message{}, fmt.Errorf("a message of %d bytes: %w", length, errDamaged)
	}
	body := make([]byte, length)
	if err := readFull(r, body); err != nil {
		return Message{}, err
	}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(frame[4:]) {
		return Message{}, fmt.Errorf("a checksum: %w", errDamaged)
	}
	return decodeWaiting(body, topic)
}

func decodeWaiting(body []byte, topic string) (Message, error) {
	m := Message{Topic: topic, Value: []byte{}}
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return Message{}, fmt.Errorf("a field: %w", errDamaged)
		}
		field := body[n:]
		if n = protowire.ConsumeFieldValue(number, kind, field); n < 0 {
			return Message{}, fmt.Errorf("a field: %w", errDamaged)
		}
		value, _ := protowire.ConsumeBytes(field)
		switch number {
		case waitingKey:
			m.Key = string(value)
		case waitingValue:
			m.Value = value
		case waitingTrace:
			m.Trace = string(value)
		}
		body = field[n:]
	}
	return m, nil
}

// readFull takes the end of the file for damage: what should follow was never written, or is gone.
func readFull(r io.Reader, into []byte) error {
	_, err := io.ReadFull(r, into)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends too early: %w", errDamaged)
	}
	return err
}
