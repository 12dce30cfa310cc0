package client

import (
	"errors"
	"fmt"
	"testing"
)

// TestOlderNimbus: one that does not know the call says so, and is asked on over the
// same connection.
func TestOlderNimbus(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	if _, err := c.RingNodes(t.Context()); !errors.Is(err, ErrUnknownCall) || err.Error() != "getRingNodes: this nimbus does not know that call" {
		t.Errorf("got %v", err)
	}
	if text, err := c.NimbusConf(t.Context()); text != "{}" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) != 1 {
		t.Errorf("%d connections", len(s.conns))
	}
}

func TestDecodeRing(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:   "map[]",
		`null`: "map[]",
		`{"b":{"addr":"h:2","rack":"r"},"a":{"addr":"[::1]:1"},"none":{}}`: "map[a:[::1]:1 b:h:2]",
		`[]`: "",
		``:   "",
	} {
		got, err := decodeRing(text)
		if err == nil != (want != "") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func FuzzDecodeRing(f *testing.F) {
	f.Add(`{"s1":{"addr":"h1:6629"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := decodeRing(text)
		for id, addr := range nodes {
			if err != nil || addr == "" {
				t.Errorf("%s: %q, error %v", id, addr, err)
			}
		}
	})
}
