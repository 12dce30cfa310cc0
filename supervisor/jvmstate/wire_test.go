package jvmstate

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestEntries: a stream of entries is the same however it is cut.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.StringN(0, 20, 40), rapid.StringN(0, 50, 100)).Draw(t, "entries")
		var b []byte
		for _, k := range slices.Sorted(maps.Keys(want)) {
			b = appendEntry(b, []byte(k), []byte(want[k]))
		}
		got := map[string]string{}
		var parts entries
		for len(b) > 0 {
			n := rapid.IntRange(1, len(b)).Draw(t, "cut")
			if err := parts.feed(b[:n], func(k, v []byte, gone bool) error {
				if gone {
					t.Fatal("an entry is deleted")
				}
				got[string(k)] = string(v)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			b = b[n:]
		}
		if err := parts.end(); err != nil || !maps.Equal(got, want) {
			t.Fatalf("got %v, error %v, want %v", got, err, want)
		}
	})
}

// FuzzFrames: whatever comes, decoding gives messages or an error.
func FuzzFrames(f *testing.F) {
	h := hello{token: "t", topology: "x-1", component: "c", task: 1, namespace: "c-1", boot: 2, serial: 3, settings: "{}"}
	f.Add(appendFrame(nil, open, helloBody(h, format)))
	f.Add(appendFrame(appendFrame(nil, changes, appendEntry(nil, []byte("k"), []byte("v"))), end, nil))
	f.Add(appendFrame(nil, step, append([]byte{1}, make([]byte, 53)...)))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var parts entries
		for {
			fr, err := readFrame(r, maxFrame)
			if err != nil {
				return
			}
			switch fr.kind {
			case open:
				if h, err := decodeHello(fr.body); err == nil {
					if got := helloBody(h, format); len(got) != len(fr.body) {
						t.Fatalf("%d bytes are %d again", len(fr.body), len(got))
					}
				}
			case step:
				if m, err := decodeMove(fr.body); err == nil {
					_, _ = m.next()
				}
			case changes:
				if parts.feed(fr.body, func(key, value []byte, _ bool) error {
					if len(key) > maxKey || len(value) > maxValue {
						t.Fatal("an entry is too large")
					}
					return nil
				}) != nil {
					return
				}
			default:
			}
		}
	})
}
