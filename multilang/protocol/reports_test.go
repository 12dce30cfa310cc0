package protocol

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// TestReportedMessages are messages that Storm choked on, by the reports that
// docs/multilang-reports.md lists.
func TestReportedMessages(t *testing.T) {
	emit := func(more string) string { return `{"command":"emit","tuple":[1]` + more + "}\nend\n" }
	tests := map[string]struct {
		in   string
		want []string
	}{
		"storm.js without anchors":    {emit(`,"anchors":[null]`), []string{`emit stream="default" tuple=[1] ids=true`}},
		"storm.js with two":           {emit(`,"anchors":[["3","4"]]`), []string{`emit stream="default" anchors=[3,4] tuple=[1] ids=true`}},
		"anchored on a heartbeat":     {emit(`,"anchors":["0",""]`), []string{`emit stream="default" tuple=[1] ids=true`}},
		"numbers for anchors":         {emit(`,"anchors":[3,4]`), []string{`emit stream="default" anchors=[3,4] tuple=[1] ids=true`}},
		"ack of a heartbeat":          {"{\"command\":\"ack\",\"id\":\"0\"}\nend\n{\"command\":\"fail\",\"id\":\"\"}\nend\n", []string{"sync", "sync"}},
		"log without level":           {`{"command":"log","msg":"a"}` + "\nend\n", []string{`log text="a" level=2`}},
		"log with a name for level":   {`{"command":"log","msg":"a","level":"WARNING"}` + "\nend\n", []string{`log text="a" level=3`}},
		"log with text for level":     {`{"command":"log","msg":"a","level":"4"}` + "\nend\n", []string{`log text="a" level=4`}},
		"log with a float for level":  {`{"command":"log","msg":"a","level":1.0}` + "\nend\n", []string{`log text="a" level=1`}},
		"log at trace":                {`{"command":"log","msg":"a","level":0}` + "\nend\n", []string{`log text="a"`}},
		"log at no level":             {`{"command":"log","msg":"a","level":"x"}` + "\nend\n" + `{"command":"log","msg":"b","level":99}` + "\nend\n", []string{`log text="a" level=2`, `log text="b" level=2`}},
		"error that is no text":       {`{"command":"error","msg":{"a":1}}` + "\nend\n", []string{`error text="{\"a\":1}"`}},
		"task as a float":             {emit(`,"task":3.0`), []string{`emit stream="default" task=3 tuple=[1] ids=true`}},
		"task as text":                {emit(`,"task":"3"`), []string{`emit stream="default" task=3 tuple=[1] ids=true`}},
		"task between two":            {emit(`,"task":3.5`), []string{`emit stream="default" tuple=[1] ids=true err=task is no whole number`}},
		"a named tuple":               {`{"command":"emit","tuple":{"a":1},"anchors":["5"]}` + "\nend\n", []string{`emit stream="default" anchors=[5] ids=true err=tuple is no list`}},
		"byte order mark":             {"\ufeff{\"pid\":1}\r\nend\r\n\ufeff{\"command\":\"sync\"}\nend\n", []string{"pid pid=1", "sync"}},
		"no command":                  {"{\"id\":\"5\"}\nend\n{\"command\":\"sync\"}\nend\n", []string{`broken id="\"5\"" text="{\"id\":\"5\"}" err=has neither "command" nor "pid"`, "sync"}},
		"a null command":              {"{\"command\":null}\nend\n", []string{`broken text="{\"command\":null}" err=has neither "command" nor "pid"`}},
		"keys in any order and space": {"  {\n\t\"id\" : \"5\" ,\r\n \"command\" : \"ack\" }\nend\n", []string{"ack ref=5"}},
		"unknown keys":                {`{"command":"ack","id":"5","new":{"a":[1]}}` + "\nend\n", []string{"ack ref=5"}},
		"two threads at once": {
			"{\"command\":\"log\",\"msg\":\"a\",{\"command\":\"ack\",\"id\":\"5\"}\nend\n\"level\":2}\nend\n{\"command\":\"sync\"}\nend\n",
			[]string{`stray text text="{\"command\":\"log\",\"msg\":\"a\","`, "ack ref=5", `stray text text="\"level\":2}"`, `stray text text="end"`, "sync"},
		},
		"a larger integer than Java's": {`{"command":"emit","tuple":[16501247490175997961]}` + "\nend\n", []string{`emit stream="default" tuple=[16501247490175997961] ids=true`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1 << 20} {
				if got := show(feed(JSON{}.NewDecoder(limit), []byte(tt.in), n)); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("in pieces of %d:\ngot  %q\nwant %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestReportedMsgpackMessages(t *testing.T) {
	obj := func(m map[string]storm.Value) string {
		b, err := Msgpack{}.NewEncoder().Object(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	text := storm.String
	for name, tt := range map[string]struct{ in, want string }{
		"anchors":            {obj(map[string]storm.Value{"command": text("emit"), "tuple": storm.List(), "anchors": storm.List(storm.Nil(), storm.List(text("3"), storm.Int(4)), text("0"))}), `emit stream="default" anchors=[3,4] tuple=[] ids=true`},
		"ack of a heartbeat": {obj(map[string]storm.Value{"command": text("ack"), "id": text("0")}), "sync"},
		"log without level":  {obj(map[string]storm.Value{"command": text("log"), "msg": text("a")}), `log text="a" level=2`},
		"log with a name":    {obj(map[string]storm.Value{"command": text("log"), "msg": text("a"), "level": text("debug")}), `log text="a" level=1`},
		"task as a float":    {obj(map[string]storm.Value{"command": text("emit"), "tuple": storm.List(), "task": storm.Float(3)}), `emit stream="default" task=3 tuple=[] ids=true`},
	} {
		if got := show(feed(Msgpack{}.NewDecoder(limit), []byte(tt.in), 3)); !reflect.DeepEqual(got, []string{tt.want}) {
			t.Errorf("%s: got %q, not %q", name, got, tt.want)
		}
	}
}

// TestKindsOfNumbers is about what a value hashes as in a fields grouping: what
// Storm's JSON parser makes of it, which another one did before 2.6.
func TestKindsOfNumbers(t *testing.T) {
	large, _ := new(big.Int).SetString("-9223372036854775809", 10)
	tests := []struct {
		in        string
		old, late storm.Value
	}{
		{"0", storm.Int(0), storm.Int32(0)},
		{"-1", storm.Int(-1), storm.Int32(-1)},
		{"2147483647", storm.Int(2147483647), storm.Int32(2147483647)},
		{"2147483648", storm.Int(2147483648), storm.Int(2147483648)},
		{"-2147483648", storm.Int(-2147483648), storm.Int32(-2147483648)},
		{"-2147483649", storm.Int(-2147483649), storm.Int(-2147483649)},
		{"9223372036854775807", storm.Int(9223372036854775807), storm.Int(9223372036854775807)},
		{"-9223372036854775809", storm.Any(large), storm.Any(large)},
		{"1.0", storm.Float(1), storm.Float(1)},
		{"1e2", storm.Float(100), storm.Float(100)},
		{"-0", storm.Int(0), storm.Int32(0)},
		{"[-1]", storm.List(storm.Int(-1)), storm.List(storm.Int32(-1))},
	}
	for _, tt := range tests {
		for codec, want := range map[JSON]storm.Value{{}: tt.old, {ShortIntegers: true}: tt.late} {
			got := feed(codec.NewDecoder(limit), []byte(`{"command":"emit","tuple":[`+tt.in+"]}\nend\n"), 5)
			if len(got) != 1 || got[0].Err != nil || !storm.List(got[0].Tuple...).Equal(storm.List(want)) {
				t.Errorf("%s with %+v gave %v of kind %v", tt.in, codec, show(got), got[0].Tuple[0].Kind())
			}
		}
	}
}

func TestHeartbeatsHaveIDsLikeInputs(t *testing.T) {
	if b := string(JSON{}.NewEncoder().Heartbeat(nil)); !strings.HasPrefix(b, `{"id":"0",`) {
		t.Errorf("%s", b)
	}
}
