package ring

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawMember(t *rapid.T) Member {
	name := rapid.StringN(1, 20, 60)
	return Member{
		Node: Node{
			ID: name.Draw(t, "id"), Addr: name.Draw(t, "addr"),
			Host: rapid.StringN(0, 9, 30).Draw(t, "host"), Rack: rapid.StringN(0, 9, 30).Draw(t, "rack"),
			Positions: rapid.IntRange(1, MaxPositions).Draw(t, "positions"),
		},
		Status:      Status(rapid.IntRange(0, int(Left)).Draw(t, "status")),
		Incarnation: rapid.Uint64().Draw(t, "incarnation"),
	}
}

func drawMembers(t *rapid.T, most int) []Member {
	var out []Member
	for range rapid.IntRange(0, most).Draw(t, "members") {
		out = append(out, drawMember(t))
	}
	return out
}

func TestCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Message{
			Kind: Kind(rapid.IntRange(1, int(lastKind)).Draw(t, "kind")), From: drawMember(t),
			To: rapid.StringN(0, 20, 60).Draw(t, "to"), Seq: rapid.Uint64().Draw(t, "seq"), Digest: rapid.Uint64().Draw(t, "digest"),
			Done: rapid.Bool().Draw(t, "done"), Large: rapid.Bool().Draw(t, "large"),
			Members: drawMembers(t, 5), Updates: drawMembers(t, 3),
		}
		for range rapid.IntRange(0, 5).Draw(t, "keys") {
			m.Keys = append(m.Keys, rapid.Uint64().Draw(t, "key"))
		}
		b, err := Append([]byte("before"), m)
		if err != nil {
			t.Fatal(err)
		}
		b = b[len("before"):]
		back, err := Decode(b)
		if err != nil || !reflect.DeepEqual(m, back) {
			t.Fatalf("%+v came back as %+v, %v", m, back, err)
		}
		for n := range b {
			if _, err := Decode(b[:n]); err == nil {
				t.Fatalf("%d bytes of %d are a message too", n, len(b))
			}
		}
		if _, err := Decode(append(b, 0)); err == nil {
			t.Fatal("a byte too much is accepted")
		}
	})
}

func small() *Message {
	return &Message{Kind: Ping, From: Member{Node: node("a", 3), Incarnation: 300}, To: "b", Seq: 5, Keys: []uint64{1 << 63}}
}

// TestEncoding: these bytes must not change in format 1.
func TestEncoding(t *testing.T) {
	want := []byte{
		1, 1, 0, // format, kind, flags
		1, 'b', 5, 0, 0, 0, 0, 0, 0, 0, 0, // to, seq, digest
		1, 0, 0, 0, 0, 0, 0, 0, 128, // keys
		0, 0xac, 2, 3, 1, 'a', 3, 'a', ':', '1', 0, 0, // from
		0, 0, // members, updates
	}
	if got, err := Append(nil, small()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, not %v", got, err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Append(nil, small())
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name string
		b    []byte
		says string
	}{
		{"nothing", nil, "ends too early"},
		{"another format", change(0, 2), "unknown format of a ring message: 2, this node understands 1"},
		{"no kind", change(1, 0), "unknown kind 0"},
		{"another kind", change(1, byte(lastKind)+1), "unknown kind 13"},
		{"flags", change(2, 4), "unknown flags 0x4"},
		{"more keys than bytes", change(14, 100), "ends too early"},
		{"status", change(23, 9), "unknown status 9"},
		{"no positions", change(26, 0), "takes 0 positions"},
		{"no id", append(append(bytes.Clone(good[:27]), 0), good[29:]...), "without id"},
		{"too many keys", append(bytes.Clone(good[:14]), 0xff, 0xff, 3), "65535 keys: at most 256"},
		{"too many updates", append(bytes.Clone(good[:len(good)-1]), 17), "17 updates: at most 16"},
		{"too long", make([]byte, MaxMessage+1), "at most 4194304"},
	} {
		if _, err := Decode(c.b); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Decode(change(0, 9)); !errors.Is(err, ErrFormat) {
		t.Errorf("another format: %v", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, change := range map[string]func(m *Message){
		"kind":    func(m *Message) { m.Kind = 0 },
		"keys":    func(m *Message) { m.Keys = make([]uint64, MaxKeys+1) },
		"members": func(m *Message) { m.Members = make([]Member, MaxMembers+1) },
		"updates": func(m *Message) { m.Updates = make([]Member, MaxUpdates+1) },
		"to":      func(m *Message) { m.To = strings.Repeat("x", MaxName+1) },
		"from":    func(m *Message) { m.From.ID = "" },
		"status":  func(m *Message) { m.From.Status = Left + 1 },
		"member":  func(m *Message) { m.Members = make([]Member, 1) },
	} {
		m := small()
		change(m)
		if _, err := Append(nil, m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestLargest: the largest message that Append accepts is one for Decode.
func TestLargest(t *testing.T) {
	long := strings.Repeat("x", MaxName)
	m := Member{Node{long, long, long, long, MaxPositions}, Left, 1<<64 - 1}
	msg := &Message{Kind: SyncAnswer, From: m, To: long, Keys: make([]uint64, MaxKeys)}
	for range MaxMembers {
		msg.Members = append(msg.Members, m)
	}
	msg.Updates = msg.Members[:MaxUpdates:MaxUpdates]
	b, err := Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(b); err != nil || !reflect.DeepEqual(back, msg) {
		t.Errorf("%d bytes: %v", len(b), err)
	}
}

func FuzzDecode(f *testing.F) {
	for k := Ping; k <= lastKind; k++ {
		m := small()
		m.Kind, m.Members, m.Updates = k, []Member{m.From, m.From}, []Member{m.From}
		b, err := Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Append(nil, m)
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		back, err := Decode(again)
		if err != nil || !reflect.DeepEqual(m, back) {
			t.Fatalf("%+v, then %+v, %v", m, back, err)
		}
	})
}

// FuzzReceive: no message, whatever it says, breaks a machine, nor what the
// machine then sends.
func FuzzReceive(f *testing.F) {
	for k := Ping; k <= lastKind; k++ {
		m := small()
		m.Kind, m.To, m.Members, m.Updates = k, "n1-0", []Member{{Node: node("c", 1)}, m.From}, []Member{{Node: node("n1-1", 2), Status: Dead}}
		b, err := Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, chord bool) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		cfg := Default()
		if chord {
			cfg = chordOnly()
		}
		w := newWorld(t, 1, cfg, 6, 2)
		w.encode = true
		w.stable()
		a := w.actors[0]
		w.perform(a, a.m.Lookup(m.Seq, 1, w.now))
		w.perform(a, a.m.Receive(m, w.now))
		w.run(10 * w.cfg.PingEvery)
		a.m.Explain()
	})
}
