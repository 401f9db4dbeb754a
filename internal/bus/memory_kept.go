package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
)

// OpenMemory is an in-process bus whose keepers lose nothing to a stop: their groups are there before their first
// member and after their last one, and what they have not taken when the bus is closed waits in folder for the next
// OpenMemory. Messages come again whose group had handled them in the moment a process died.
func OpenMemory(folder string) (*Memory, error) { return openMemory(folder, memoryRoom) }

func openMemory(folder string, room room) (*Memory, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("make a folder for messages that wait for the next start: %w", err)
	}
	b := newMemory(room)
	for _, name := range slices.Sorted(maps.Keys(Keepers)) {
		file := waitingIn(folder, name)
		messages, err := b.takeUp(file)
		if err != nil {
			return nil, err
		}
		b.topic(name).keep(file, messages)
	}
	return b, nil
}

// takeUp reads the messages that waited for this start.
func (b *Memory) takeUp(file waitingFile) ([]Message, error) {
	if err := file.removeParts(); err != nil {
		return nil, fmt.Errorf("remove what an interrupted stop has left: %w", err)
	}
	messages, lost, err := file.read()
	if err != nil {
		return nil, fmt.Errorf("read messages that wait for %s: %w", file.group, err)
	}
	if lost > 0 {
		b.meter.lost.WithLabelValues(file.topic, file.group).Add(float64(lost))
		slog.Error("messages lost: the file in which they waited for this start is damaged", "topic", file.topic, "group", file.group, "at least", lost)
		if len(messages) == 0 {
			return nil, file.remove()
		}
	}
	if len(messages) > 0 {
		slog.Info("messages that waited for this start are taken up", "topic", file.topic, "group", file.group, "messages", len(messages))
	}
	return messages, nil
}

// Stopping has publishers wait no longer for keepers with a folder: what they still hold is bounded, and Close writes
// it to the disk.
func (b *Memory) Stopping() {
	for _, t := range b.all() {
		t.hurry()
	}
}

// keepWaiting ends all topics and writes what their keepers have not taken.
func (b *Memory) keepWaiting() error {
	var errs []error
	for _, t := range b.all() {
		g, messages, receipts := t.end()
		if len(messages) == 0 {
			continue
		}
		err := g.file.write(messages)
		if err != nil {
			errs = append(errs, fmt.Errorf("%d messages for %s are lost: %w", len(messages), g.name, err))
			b.left(t.name, g.name, len(messages))
		} else {
			slog.Info("messages wait on the disk for the next start", "topic", t.name, "group", g.name, "messages", len(messages), "file", g.file.name)
		}
		for _, r := range receipts {
			r.settle(err)
		}
	}
	return errors.Join(errs...)
}

func (b *Memory) all() []*topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.topics))
}

// keep has the topic's keeper there for as long as the bus is, and gives it what waited for it.
func (t *topic) keep(file waitingFile, waited []Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := &group{name: file.group, busy: map[string]bool{}, file: &file, waited: len(waited)}
	for _, m := range waited {
		g.push(m, nil)
		g.queue.Back().Value.(*delivery).waited = true
	}
	t.groups[file.group] = g
}

// forget removes the file whose last message was taken: until then a process that dies finds them all again.
func (g *group) forget() {
	if err := g.file.remove(); err != nil {
		slog.Warn("messages that are stored will be delivered once more at the next start", "group", g.name, "file", g.file.name, "error", err)
	}
}

// hurry lets go who waits for room.
func (t *topic) hurry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[Keepers[t.name]]; g != nil && g.file != nil {
		t.stopping = true
		t.signal()
	}
}

// end has the topic take nothing any longer, and returns what a keeper with a folder has not taken.
func (t *topic) end() (g *group, messages []Message, receipts []*Receipt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if g = t.groups[Keepers[t.name]]; g == nil || g.file == nil {
		return nil, nil, nil
	}
	for e := g.queue.Front(); e != nil; e = g.queue.Front() {
		receipts = append(receipts, e.Value.(*delivery).receipt)
		messages = append(messages, g.pop(e))
	}
	return g, messages, receipts
}

// TakeUp publishes what waits in the folder of an in-process bus: the installation has had one before.
func (k *Kafka) TakeUp(ctx context.Context, folder string) error {
	for _, name := range slices.Sorted(maps.Keys(Keepers)) {
		file := waitingIn(folder, name)
		messages, lost, err := file.read()
		if err != nil {
			return fmt.Errorf("read messages that wait for %s: %w", file.group, err)
		}
		if len(messages)+lost == 0 {
			continue
		}
		k.meter.lost.WithLabelValues(name, file.group).Add(float64(lost))
		for _, m := range messages {
			if err := k.publish(ctx, m); err != nil {
				return fmt.Errorf("publish messages that wait for %s in %s: %w", file.group, file.name, err)
			}
		}
		if err := file.remove(); err != nil {
			return err
		}
		slog.Info("messages of the in-process bus of before are on Kafka", "topic", name, "messages", len(messages), "damaged", lost)
	}
	return nil
}
