package protocol

import (
	"testing"

	"github.com/stormring/stormring/storm"
)

func BenchmarkEncodeTuple(b *testing.B) {
	for name, codec := range map[string]Codec{"json": JSON{}, "msgpack": Msgpack{}} {
		b.Run(name, func(b *testing.B) {
			e := codec.NewEncoder()
			tp := tuple(storm.String("the quick brown fox"), storm.Int(1234567))
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = e.Tuple(buf[:0], 123456, &tp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range map[string]string{
		"emit": `{"command": "emit", "anchors": ["123456"], "tuple": ["the quick brown fox", 1234567], "need_task_ids": false}` + jsonEnd,
		"ack":  `{"command": "ack", "id": "123456"}` + jsonEnd,
	} {
		b.Run(name, func(b *testing.B) {
			d := JSON{}.NewDecoder(1 << 20)
			var m Message
			b.ReportAllocs()
			for b.Loop() {
				d.Wrote(copy(d.Room(len(text)), text))
				if !d.Next(&m) || m.Err != nil {
					b.Fatal(m.Err)
				}
			}
		})
	}
}
