package protocol

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
)

// FuzzJSONStream checks that pieces do not matter, that nothing panics, and that
// a message behind any garbage that ends in an "end" line is found.
func FuzzJSONStream(f *testing.F) {
	for _, s := range []string{
		"", "{}\nend\n", `{"command":"emit","tuple":["a",1.0],"anchors":["1"]}` + "\nend\n", "stray\nend\n{", "{\"pid\":1}\r\nend\r\n",
		`x{"command":"log","msg":"\ud800"}` + "\nend\n", "end\nend", "{\"a\":[[[[[\nend\n",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n = n & 63; n == 0 {
			n = 1
		}
		whole := show(feed(JSON{}.NewDecoder(1<<20), b, len(b)+1))
		if parts := show(feed(JSON{}.NewDecoder(1<<20), b, n)); !reflect.DeepEqual(whole, parts) {
			t.Errorf("whole %q, in parts %q", whole, parts)
		}
		feed(JSON{}.NewDecoder(8), b, n)
		more := feed(JSON{}.NewDecoder(1<<20), append(slices.Clone(b), "\nend\n{\"command\":\"sync\"}\nend\n"...), n)
		if len(more) == 0 || more[len(more)-1].Kind != Sync {
			t.Errorf("the last message is not found: %q", show(more))
		}
	})
}

// FuzzJSONValue compares the parser with the standard library's.
func FuzzJSONValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\u00e9"]}`, `-0`, `01`, `1e5`, `"\x"`, `nul`, `[1,]`, "\"\x01\"", `1.`, `-`, ` [ ] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := jsonParser{b: b}
		v := p.value(0)
		p.peek()
		ok := p.hard == nil && p.at == len(b)
		if valid := json.Valid(b); p.soft == nil && ok != valid && !errors.Is(p.hard, errDepth) {
			t.Fatalf("%q: valid %t, here %t (%v)", b, valid, ok, p.hard)
		}
		if !ok || p.soft != nil {
			return
		}
		out, err := appendJSON(nil, v, 0)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", b, err)
		}
		q := jsonParser{b: out}
		if w := q.value(0); !w.Equal(v) || q.hard != nil || q.soft != nil {
			t.Fatalf("%q became %q", b, out)
		}
	})
}

// FuzzMsgpackStream is FuzzJSONStream without the promise to find what follows
// garbage.
func FuzzMsgpackStream(f *testing.F) {
	for _, s := range []string{
		"", "\x81\xa3pid\x05", "hello\n\x81\xa7command\xa4sync", "\x82\xa7command\xa4emit\xa5tuple\x93\xc0\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xc4\x01\x00",
		"\xdf\xff\xff\xff\xff\xa1", "\x81\xa1a\xdd\x7f\xff\xff\xff", "\x81\xa1a\xc7\x01\x05x",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n = n & 63; n == 0 {
			n = 1
		}
		whole := show(feed(Msgpack{}.NewDecoder(1<<20), b, len(b)+1))
		if parts := show(feed(Msgpack{}.NewDecoder(1<<20), b, n)); !reflect.DeepEqual(whole, parts) {
			t.Errorf("whole %q, in parts %q", whole, parts)
		}
		feed(Msgpack{}.NewDecoder(16), b, n)
	})
}
