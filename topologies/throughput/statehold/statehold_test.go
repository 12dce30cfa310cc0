package statehold

import (
	"errors"
	"testing"

	"github.com/stormring/stormring/storm"
)

// TestHold puts each key once and reads it from then on.
func TestHold(t *testing.T) {
	b := &holder{options: &options{keys: 3, size: 16}}
	if err := b.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	state := storm.NewMapState()
	if err := b.InitState(state); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		if err := b.Execute(storm.NewTuple(nil, 1, nil, storm.Int(int64(i%3))), nil); err != nil {
			t.Fatal(err)
		}
	}
	if b.put != 3 || b.read != 4 || state.Len() != 3 {
		t.Errorf("put %d, read %d, %d keys", b.put, b.read, state.Len())
	}
	other := make([]byte, 16)
	if err := state.Put([]byte{0, 0, 0, 0, 0, 0, 0, 1}, other); err != nil {
		t.Fatal(err)
	}
	if err := b.Execute(storm.NewTuple(nil, 1, nil, storm.Int(1)), nil); err == nil {
		t.Error("the value of another key was not found out")
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--keys", "0"}, {"--size", "7"}, {"--journal", "x"}, {"stray"}, {"--nosuch"}} {
		if _, err := Definition().Instance(storm.Env{Args: args}); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
