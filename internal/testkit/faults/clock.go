package faults

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/standstill"
)

// ShiftClock shifts the time of day of a running program, as a step of its host's clock does
// (clock_settime(2)): the wall clock is off by d from now on, while timers and time-outs, which use the
// monotonic clock, go on. A restarted program has the host's time.
//
// A Go program reads the time through the vDSO, of which every process has a writable copy. ShiftClock
// makes the copy's clock_gettime jump to a few instructions that call the kernel and add d to its
// CLOCK_REALTIME. A static binary cannot be given another libc, and time namespaces shift other clocks than
// this one. Linux on amd64.
func ShiftClock(t testing.TB, pid int, d time.Duration) {
	t.Helper()
	if err := shiftClock(pid, d); err != nil {
		t.Fatalf("shift the clock of process %d: %v", pid, err)
	}
}

// replacement is the new clock_gettime(edi, rsi); what it adds, in seconds, stands at its end.
var replacement = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
	0x75, 0x0a, // jne to ret
	0x48, 0x8b, 0x0d, 0x04, 0, 0, 0, // mov rcx, [rip+4]: behind ret
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3,                   // ret
	0, 0, 0, 0, 0, 0, 0, 0, // seconds
}

const secondsAt = 22

// jump is the size of the instruction that is put over the first of clock_gettime.
const jump = 5

func shiftClock(pid int, d time.Duration) (err error) {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	begin, image, err := vdso(pid, memory)
	if err != nil {
		return err
	}
	entry, err := clockGettime(image)
	if err != nil {
		return err
	}
	if image[entry] == 0xe9 { // shifted before
		at := begin + int64(entry) + jump + int64(int32(binary.LittleEndian.Uint32(image[entry+1:])))
		return writeSeconds(memory, at, d)
	}
	room := len(bytes.TrimRight(image, "\x00"))
	room = (room + 15) &^ 7 // a word of its own, so that it is written at once
	room += (8 - (room+secondsAt)%8) % 8
	if room+len(replacement) > len(image) {
		return errors.New("the vDSO has no room behind its end")
	}
	at := begin + int64(room)
	if _, err := memory.WriteAt(replacement, at); err != nil {
		return err
	}
	if err := writeSeconds(memory, at, d); err != nil {
		return err
	}
	return redirect(pid, memory, begin+int64(entry), at)
}

func writeSeconds(memory *os.File, replacement int64, d time.Duration) error {
	_, err := memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(d/time.Second))), replacement+secondsAt)
	return err
}

// vdso is a process's, and where it begins.
func vdso(pid int, memory *os.File) (begin int64, image []byte, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(maps)) {
		var end int64
		if !strings.Contains(line, "[vdso]") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil {
			return 0, nil, err
		}
		image = make([]byte, end-begin)
		_, err := memory.ReadAt(image, begin)
		return begin, image, err
	}
	return 0, nil, errors.New("it has no vDSO")
}

// clockGettime is where the function begins.
func clockGettime(image []byte) (int, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Value+jump < uint64(len(image)) {
			return int(s.Value), nil
		}
	}
	return 0, errors.New("its vDSO has no clock_gettime")
}

// redirect puts the jump at a time when no thread is within the instructions that it replaces.
func redirect(pid int, memory *os.File, entry, to int64) error {
	code := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(to-entry-jump)))
	for deadline := time.Now().Add(await.Patience); time.Now().Before(deadline); {
		free, err := stopped(pid, entry)
		if err == nil && free {
			_, err = memory.WriteAt(code, entry)
		}
		if err = errors.Join(err, standstill.Continue(pid)); err != nil || free {
			return err
		}
	}
	return errors.New("its threads are in clock_gettime all the time")
}

// stopped stops a process and reports whether every thread stands elsewhere.
func stopped(pid int, entry int64) (free bool, err error) {
	if err := standstill.Stop(pid); err != nil {
		return false, err
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil || len(threads) == 0 {
		return false, errors.Join(err, errors.New("it has ended"))
	}
	for _, file := range threads {
		raw, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // this thread has ended
		}
		fields := strings.Fields(string(raw))
		if err != nil || len(fields) < 2 {
			return false, err
		}
		at, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil || at > entry && at < entry+jump {
			return false, err
		}
	}
	return true, nil
}
