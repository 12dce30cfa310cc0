package conf_test

import (
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/conf"
)

func TestSeedsOfStorm(t *testing.T) {
	tests := []struct {
		seeds []any
		port  int
		hosts []string
		want  int
	}{
		{[]any{"a", "b"}, 6627, []string{"a", "b"}, 6627},
		{[]any{"a:7000", "b:7000"}, 6627, []string{"a", "b"}, 7000},
		{[]any{"a:7000", "b:7001", "c"}, 6627, []string{"a"}, 7000},
		{[]any{"a", "b:7001", "c:6627"}, 6627, []string{"a", "c"}, 6627},
		{[]any{"[::1]:7000", "127.0.0.1:7000"}, 6627, []string{"::1", "127.0.0.1"}, 7000},
		{[]any{"a:b"}, 6627, nil, 6627},
	}
	for _, test := range tests {
		c, err := conf.Defaults().With("test", map[string]any{"nimbus.seeds": test.seeds, "nimbus.thrift.port": test.port})
		if err != nil {
			t.Fatal(err)
		}
		if hosts, port := conf.SeedsOfStorm(c); !slices.Equal(hosts, test.hosts) || port != test.want {
			t.Errorf("%v: %v, %d", test.seeds, hosts, port)
		}
	}
}
