package cluster

import "testing"

func TestCompatibleVersion(t *testing.T) {
	for _, tt := range []struct {
		made string
		have []string
		want string
	}{
		{"2.8.3", []string{"2.8.3", "2.8.4", "1.2.3"}, "2.8.3"},
		{"2.6.2", []string{"2.8.3", "2.7.0", "3.0.0"}, "2.7.0"},
		{"2.8.10", []string{"2.8.9", "2.8.3", "1.2.3"}, "2.8.9"},
		{"2.8.3-SNAPSHOT", []string{"2.8.2", "2.8.3"}, "2.8.3"},
		{"2.8.3", []string{"2.8.3-rc1", "2.8.2"}, "2.8.3-rc1"},
		{"1.2.4", []string{"2.8.3"}, ""},
		{"3.0.0", []string{"2.8.3"}, ""},
		{"", []string{"2.8.3", "2.10.0", "1.2.3"}, "2.10.0"},
		{"", nil, ""},
		{"2.8.3", nil, ""},
		{"2.8", []string{"2.8.0"}, "2.8.0"},
	} {
		got, ok := CompatibleVersion(tt.made, tt.have)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q of %v: %q, %t; want %q", tt.made, tt.have, got, ok, tt.want)
		}
	}
}
