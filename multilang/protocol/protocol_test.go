package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// feed decodes a stream that comes in pieces of n bytes.
func feed(d Decoder, stream []byte, n int) []Message {
	var out []Message
	var m Message
	for len(stream) > 0 {
		k := copy(d.Room(n), stream[:min(n, len(stream))])
		d.Wrote(k)
		stream = stream[k:]
		for d.Next(&m) {
			out = append(out, m)
		}
	}
	for d.Rest(&m) {
		out = append(out, m)
	}
	return out
}

const limit = 4096

// show makes messages comparable and readable.
func show(ms []Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, showOne(m))
	}
	return out
}

func showOne(m Message) string {
	var b strings.Builder
	b.WriteString(m.Kind.String())
	add := func(name string, v any) {
		if !reflect.ValueOf(v).IsZero() {
			text, _ := json.Marshal(v)
			b.WriteString(" " + name + "=" + string(text))
		}
	}
	add("ref", m.Ref)
	add("id", m.ID)
	add("stream", m.Stream)
	if m.Direct {
		add("task", m.Task)
	}
	add("anchors", m.Anchors)
	if m.Tuple != nil {
		text, err := appendJSON(nil, storm.List(m.Tuple...), 0)
		if err != nil {
			text = []byte("?")
		}
		b.WriteString(" tuple=" + string(text))
	}
	if m.Kind == Emit {
		add("ids", m.NeedTaskIDs)
	}
	add("text", m.Text)
	if m.Kind == Log {
		add("level", m.Level)
	}
	add("name", m.Name)
	if !m.Value.IsNil() {
		text, _ := appendJSON(nil, m.Value, 0)
		b.WriteString(" value=" + string(text))
	}
	add("op", m.Op)
	add("pid", m.PID)
	add("features", m.Features)
	add("txid", m.TxID)
	if m.Err != nil {
		b.WriteString(" err=" + m.Err.Error())
	}
	return b.String()
}

func TestJSONMessages(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"pid":            {"{\"pid\": 17}\nend\n", []string{"pid pid=17"}},
		"features":       {"{\"pid\":17,\"stormring\":[\"state\"]}\nend\n", []string{`pid pid=17 features=["state"]`}},
		"emit as python": {`{"command": "emit", "anchors": ["12"], "tuple": ["a", 1]}` + "\nend\n", []string{`emit stream="default" anchors=[12] tuple=["a",1] ids=true`}},
		"emit":           {`{"tuple":[1.0,null,true,{"a":[]}],"need_task_ids":false,"stream":"s","task":4,"anchors":"7","id":{"k":[1, 2]},"command":"emit"}` + "\nend\n", []string{`emit id="{\"k\":[1, 2]}" stream="s" task=4 anchors=[7] tuple=[1.0,null,true,{"a":[]}]`}},
		"nulls":          {`{"command":"emit","id":null,"stream":null,"task":null,"anchors":null,"tuple":[]}` + "\nend\n", []string{`emit stream="default" tuple=[] ids=true`}},
		"numbers":        {`{"command":"emit","tuple":[9223372036854775807,-9223372036854775808,123456789012345678901234567890,1e3,0.1,-0,1]}` + "\nend\n", []string{`emit stream="default" tuple=[9223372036854775807,-9223372036854775808,123456789012345678901234567890,1000.0,0.1,0,1] ids=true`}},
		"ack, fail":      {"{\"command\":\"ack\",\"id\":\"5\"}\nend\n{\"command\":\"fail\",\"id\":6}\nend\n", []string{"ack ref=5", "fail ref=6"}},
		"ack of other":   {"{\"command\":\"ack\",\"id\":\"x5\"}\nend\n", []string{`ack id="\"x5\""`}},
		"log":            {`{"command":"log","msg":"h\u00e9 \ud83d\ude00","level":3}` + "\nend\n", []string{`log text="hé 😀" level=3`}},
		"log no text":    {`{"command":"log","msg":["a"]}` + "\nend\n", []string{`log text="[\"a\"]" level=2`}},
		"error, metrics": {"{\"command\":\"error\",\"msg\":\"no\"}\nend\n{\"command\":\"metrics\",\"name\":\"m\",\"params\":[1]}\nend\n", []string{`error text="no"`, `metrics name="m" value=[1]`}},
		"sync, CRLF":     {"{\"command\":\"sync\"}\r\nend\r\n", []string{"sync"}},
		"state": {
			"{\"command\":\"state\",\"op\":\"put\",\"key\":\"k\",\"value\":null}\nend\n{\"command\":\"state\",\"op\":\"get\",\"key\":\"k\"}\nend\n{\"command\":\"checkpointed\",\"txid\":3}\nend\n",
			[]string{`state name="k" op=2`, `state name="k" op=1`, "checkpointed txid=3"},
		},
		"pretty":           {"{\n  \"command\": \"ack\",\n  \"id\": \"1\"\n}\nend\n", []string{"ack ref=1"}},
		"stray lines":      {"hello\n[INFO] x\n{\"command\":\"sync\"}\nend\nbye\n", []string{`stray text text="hello"`, `stray text text="[INFO] x"`, "sync", `stray text text="bye"`}},
		"stray in front":   {"hello {\"command\":\"sync\"}\nend\n", []string{`stray text text="hello"`, "sync"}},
		"stray inside":     {"{\"command\":\"sync\"}\noops {}\nend\n", []string{"sync", `stray text text="oops {}"`}},
		"stray object":     {"{\"a\":1}\n{\"command\":\"sync\"}\nend\n", []string{`stray text text="{\"a\":1}"`, "sync"}},
		"end is missing":   {"{\"command\":\"sync\"}\n{\"command\":\"ack\",\"id\":\"1\"}\nend\n", []string{"sync", "ack ref=1"}},
		"stray end":        {"end\nend\n{\"command\":\"sync\"}\nend\n", []string{`stray text text="end"`, `stray text text="end"`, "sync"}},
		"cut":              {`{"command":"sync"`, []string{`broken text="{\"command\":\"sync\"" err=the output ends within a message`}},
		"syntax":           {"{\"command\":\"ack\",\"id\":}\nend\n{\"command\":\"sync\"}\nend\n", []string{`broken text="{\"command\":\"ack\",\"id\":}" err=cannot be read: no value at byte 22`, "sync"}},
		"unknown":          {"{\"command\":\"fly\"}\nend\n", []string{`broken text="{\"command\":\"fly\"}" err=unknown command "fly"`}},
		"no tuple":         {"{\"command\":\"emit\",\"anchors\":[\"1\"]}\nend\n", []string{`emit stream="default" anchors=[1] ids=true err=emit has no "tuple"`}},
		"NaN":              {`{"command":"emit","tuple":[1,-Infinity,NaN],"anchors":["3"]}` + "\nend\n", []string{`emit stream="default" anchors=[3] tuple=[1,null,null] ids=true err=value 1: JSON has no NaN and no infinity`}},
		"too large float":  {`{"command":"emit","tuple":[[1e999]]}` + "\nend\n", []string{`emit stream="default" tuple=[[null]] ids=true err=value 0: the number 1e999 is beyond a float`}},
		"half a character": {`{"command":"emit","tuple":["a\ud800b"]}` + "\nend\n", []string{`emit stream="default" tuple=["a\\ud800b"] ids=true err=value 0: the string has half a character: \ud800`}},
		"not UTF-8":        {"{\"command\":\"emit\",\"tuple\":[\"a\xff\"]}\nend\n", []string{`emit stream="default" tuple=["a\\xff"] ids=true err=value 0: the string is not UTF-8: byte 0xff`}},
		"task 0":           {`{"command":"emit","tuple":[],"task":0}` + "\nend\n", []string{`emit stream="default" tuple=[] ids=true`}},
		"task 1<<40":       {`{"command":"emit","tuple":[],"task":1099511627776}` + "\nend\n", []string{`emit stream="default" tuple=[] ids=true err=1099511627776 is the id of no task`}},
		"bad anchor":       {`{"command":"emit","tuple":[],"anchors":["1","x"]}` + "\nend\n", []string{`emit stream="default" anchors=[1] tuple=[] ids=true err=anchor "x" is the id of no input`}},
		"large":            {`{"command":"log","msg":"` + strings.Repeat("x", 2*limit) + "\"}\nend\n{\"command\":\"sync\"}\nend\n", []string{`broken text="{\"command\":\"log\",\"msg\":\"` + strings.Repeat("x", excerptLen-24) + `…" err=message is larger than the limit`, "sync"}},
		"large stray":      {strings.Repeat("x", 2*limit) + "\n{\"command\":\"sync\"}\nend\n", []string{`stray text text="` + strings.Repeat("x", excerptLen) + `…"`, "sync"}},
		"end in a value":   {`{"command":"log","msg":"\nend\n"}` + "\nend\n", []string{`log text="\nend\n" level=2`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1 << 20} {
				want := tt.want
				if strings.HasPrefix(name, "large") && n > 1 {
					continue // how much of it is shown depends on when it is noticed
				}
				if got := show(feed(JSON{}.NewDecoder(limit), []byte(tt.in), n)); !reflect.DeepEqual(got, want) {
					t.Errorf("in pieces of %d:\ngot  %q\nwant %q", n, got, want)
				}
			}
		})
	}
}

func TestTooDeepIsBrokenNotFatal(t *testing.T) {
	in := `{"command":"emit","tuple":` + strings.Repeat("[", 100000) + "\nend\n" + `{"command":"sync"}` + "\nend\n"
	got := feed(JSON{}.NewDecoder(1<<20), []byte(in), 1<<20)
	if len(got) != 2 || got[0].Kind != Broken || got[1].Kind != Sync {
		t.Errorf("got %v", show(got))
	}
}

// values draws values that JSON can carry.
func values(text *rapid.Generator[string]) *rapid.Generator[storm.Value] {
	leaf := rapid.OneOf(
		rapid.Just(storm.Nil()),
		rapid.Map(rapid.Bool(), storm.Bool),
		rapid.Map(rapid.Int64(), storm.Int),
		rapid.Map(rapid.Float64(), storm.Float),
		rapid.Map(text, storm.String),
	)
	list := rapid.Map(rapid.SliceOfN(leaf, 0, 4), func(vs []storm.Value) storm.Value { return storm.List(vs...) })
	table := rapid.Map(rapid.MapOfN(text, rapid.OneOf(leaf, list), 0, 4), storm.Map)
	return rapid.OneOf(leaf, list, table)
}

func tuple(vals ...storm.Value) storm.Tuple {
	o := &track.Origin{Component: "spo\"ut", Stream: "é", Task: 7}
	return storm.NewTuple(o, 3, nil, vals...)
}

// TestTuplesComeBack sends what is written for a child through the decoder, in
// any pieces.
func TestTuplesComeBack(t *testing.T) {
	for name, codec := range map[string]Codec{"json": JSON{}, "msgpack": Msgpack{}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				vals := rapid.SliceOfN(values(rapid.String()), 0, 6).Draw(t, "values")
				tp := tuple(vals...)
				b, err := codec.NewEncoder().Tuple(nil, 42, &tp)
				if err != nil {
					t.Fatal(err)
				}
				// A tuple for a child is no message of one; make it one.
				old, fresh := []byte(`"comp":"spo\"ut"`), []byte(`"command":"emit"`)
				if name == "msgpack" {
					old, fresh = packText(packText(nil, "comp"), `spo"ut`), packText(packText(nil, "command"), "emit")
				}
				b = bytes.Replace(b, old, fresh, 1)
				got := feed(codec.NewDecoder(1<<20), b, rapid.IntRange(1, 50).Draw(t, "piece"))
				if len(got) != 1 || got[0].Err != nil || got[0].Stream != "é" || got[0].Task != 7 {
					t.Fatalf("%q gave %v", b, show(got))
				}
				if !storm.List(got[0].Tuple...).Equal(storm.List(vals...)) {
					t.Fatalf("sent %v, got %v", vals, got[0].Tuple)
				}
			})
		})
	}
}

func TestJSONIsASCIIAndValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(rapid.String()).Draw(t, "value")
		b, err := appendJSON(nil, v, 0)
		if err != nil || !json.Valid(b) {
			t.Fatalf("%q, %v", b, err)
		}
		for _, c := range b {
			if c < ' ' || c >= 0x7f {
				t.Fatalf("%q has byte %#x", b, c)
			}
		}
	})
}

func TestWhatCannotBeCarried(t *testing.T) {
	large, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	tests := map[string]struct {
		v             storm.Value
		json, msgpack string // errors
	}{
		"NaN":      {storm.Float(math.NaN()), "JSON has no NaN and no infinity", ""},
		"infinity": {storm.List(storm.Float(math.Inf(1))), "[0]: JSON has no NaN and no infinity", ""},
		"bytes":    {storm.Bytes([]byte{1}), errBytes.Error(), ""},
		"text":     {storm.Map(map[string]storm.Value{"k": storm.String("a\xff")}), `["k"]: the string is not UTF-8 at byte 1`, `["k"]: the string is not UTF-8; emit it as bytes`},
		"large":    {storm.Any(large), "", "msgpack has no integer as large as 123456789012345678901234567890"},
		"channel":  {storm.Any(make(chan int)), "a value of the Go type chan int cannot be sent to another language", "a value of the Go type chan int cannot be sent to another language"},
	}
	for name, tt := range tests {
		for _, c := range []struct {
			codec Codec
			want  string
		}{{JSON{}, tt.json}, {Msgpack{}, tt.msgpack}} {
			tp := tuple(storm.Int(1), tt.v)
			b, err := c.codec.NewEncoder().Tuple([]byte("before"), 1, &tp)
			if c.want == "" {
				if err != nil {
					t.Errorf("%s, %T: %v", name, c.codec, err)
				}
				continue
			}
			f, ok := errors.AsType[*FieldError](err)
			if !ok || f.Index != 1 || f.Reason != c.want || string(b) != "before" {
				t.Errorf("%s, %T: %v, %q", name, c.codec, err, b)
			}
		}
	}
}

func TestEncodings(t *testing.T) {
	tp := tuple(storm.String("a\n\x7f"), storm.Float(1), storm.Float(1e21), storm.Any(uint64(math.MaxUint64)), storm.Any(json.Number("1.50")))
	e := JSON{}.NewEncoder()
	b, err := e.Tuple(nil, 9, &tp)
	if err != nil {
		t.Fatal(err)
	}
	b = e.Heartbeat(b)
	b = e.TaskIDs(b, nil)
	b = e.TaskIDs(b, []storm.TaskID{1, -2})
	b = e.Command(b, "next", "")
	b = e.Command(b, "ack", `{"a":1.0}`)
	b, err = e.Object(b, map[string]storm.Value{"b": storm.Int(1), "a": storm.Nil()})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"9","comp":"spo\"ut","stream":"\u00e9","task":7,"tuple":["a\n\u007f",1.0,1e+21,18446744073709551615,1.50]}
end
{"id":"0","comp":"__system","stream":"__heartbeat","task":-1,"tuple":[]}
end
[]
end
[1,-2]
end
{"command":"next"}
end
{"command":"ack","id":{"a":1.0}}
end
{"a":null,"b":1}
end
`
	if string(b) != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

func TestMsgpackMessages(t *testing.T) {
	obj := func(kv ...any) []byte {
		m := map[string]storm.Value{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = storm.Any(kv[i+1])
		}
		b, err := Msgpack{}.NewEncoder().Object(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	join := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	sync := obj("command", "sync")
	tests := map[string]struct {
		in   []byte
		want []string
	}{
		"pid":      {obj("pid", 70000), []string{"pid pid=70000"}},
		"emit":     {obj("command", "emit", "tuple", []any{"a", 1.0, -5, nil}, "anchors", []any{"3", 4}, "need_task_ids", false, "task", 2, "stream", "s"), []string{`emit stream="s" task=2 anchors=[3,4] tuple=["a",1.0,-5,null]`}},
		"id":       {obj("command", "emit", "tuple", []any{}, "id", 300), []string{`emit id="\ufffd\u0001," stream="default" tuple=[] ids=true`}},
		"ack":      {join(obj("command", "ack", "id", "5"), obj("command", "fail", "id", 6)), []string{"ack ref=5", "fail ref=6"}},
		"stray":    {join([]byte("hello world\n"), sync, []byte("x"), sync), []string{`stray text text="hello world"`, "sync", `stray text text="x"`, "sync"}},
		"no UTF-8": {join([]byte("\x82\xa7command\xa4emit\xa5tuple\x91\xa1\xff"), sync), []string{`emit stream="default" tuple=["\\xff"] ids=true err=value 0: the string is not UTF-8; emit it as bytes`, "sync"}},
		"cut":      {sync[:5], []string{`broken text="\\x81\\xa7com" err=the output ends within a message`}},
		"other":    {obj("a", 1), []string{`broken err=has neither "command" nor "pid"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1 << 20} {
				if got := show(feed(Msgpack{}.NewDecoder(limit), tt.in, n)); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("in pieces of %d:\ngot  %q\nwant %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestBytesAndNaNThroughMsgpack(t *testing.T) {
	tp := tuple(storm.Bytes([]byte{0, 255}), storm.Float(math.NaN()), storm.Any(uint64(math.MaxUint64)))
	b, err := Msgpack{}.NewEncoder().Tuple(nil, 1, &tp)
	if err != nil {
		t.Fatal(err)
	}
	u := unpacker{b: b}
	m, _ := u.value(0).AsMap()
	big64 := storm.Any(new(big.Int).SetUint64(math.MaxUint64))
	want := storm.List(storm.Bytes([]byte{0, 255}), storm.Float(math.NaN()), big64)
	if u.hard != nil || u.soft != nil || len(u.b) != 0 || !m["tuple"].Equal(want) {
		t.Errorf("%v %v %v", m, u.hard, u.soft)
	}
}
