package coord

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestValidatePath(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"/", ""},
		{"/a", ""},
		{"/storm/leader-lock", ""},
		{"/a/.../.b", ""},
		{"/ä/世界 %", ""},
		{"", "it does not start with a slash"},
		{"a/b", "it does not start with a slash"},
		{"//", "a segment is empty"},
		{"/a/", "a segment is empty"},
		{"/a//b", "a segment is empty"},
		{"/.", `"." is not a name`},
		{"/a/../b", `".." is not a name`},
		{"/a\x00", "character U+0000 at byte 2"},
		{"/ab\x1f", "character U+001F at byte 3"},
		{"/ä\x7f", "character U+007F at byte 3"},
		{"/\u009f", "character U+009F at byte 1"},
		{"/\uf8ff", "character U+F8FF at byte 1"},
		{"/\ufff0", "character U+FFF0 at byte 1"},
		{"/\xc3", "it is not UTF-8"},
	} {
		err := ValidatePath(tt.path)
		got := ""
		if err != nil {
			got = err.Error()
			if !errors.Is(err, ErrInvalidPath) {
				t.Errorf("%q: the error is not ErrInvalidPath: %v", tt.path, err)
			}
		}
		if want := tt.want; want != "" && got != "not a path of a znode: "+want || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", tt.path, got, want)
		}
	}
}

func TestValidateCreate(t *testing.T) {
	for _, tt := range []struct {
		path string
		mode Mode
		want error
	}{
		{"/a", Persistent, nil},
		{"/a/", Persistent, ErrInvalidPath},
		{"/a/", Ephemeral, ErrInvalidPath},
		{"/a/", Sequential, nil},
		{"/", EphemeralSequential, nil},
		{"/a//", Sequential, ErrInvalidPath},
		{"/a/.", Sequential, nil}, // its name will be .0000000000
		{"", Sequential, ErrInvalidPath},
		{"/a", 4, ErrInvalidMode},
		{"/a", -1, ErrInvalidMode},
	} {
		if err := ValidateCreate(tt.path, tt.mode); !errors.Is(err, tt.want) {
			t.Errorf("%q %v: %v, want %v", tt.path, tt.mode, err, tt.want)
		}
	}
}

func TestParentAndBase(t *testing.T) {
	for path, want := range map[string][2]string{
		"/":      {"/", ""},
		"/a":     {"/", "a"},
		"/a/b":   {"/a", "b"},
		"/a/b/c": {"/a/b", "c"},
	} {
		if got := [2]string{Parent(path), Base(path)}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestSequencePath(t *testing.T) {
	for number, want := range map[int32]string{
		0:         "/a/n-0000000000",
		42:        "/a/n-0000000042",
		1<<31 - 1: "/a/n-2147483647",
		-1 << 31:  "/a/n--2147483648",
	} {
		if got := SequencePath("/a/n-", number); got != want {
			t.Errorf("%d: %s, want %s", number, got, want)
		}
	}
}

func TestOpError(t *testing.T) {
	err := Failed("set", "/a", CheckSize(11, 10))
	if got, want := err.Error(), "coord: set /a: too much data for a znode: 11 bytes, limit 10"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Error("it is not ErrTooLarge")
	}
	err = &OpError{Op: "check", Path: "/a", Index: 2, Err: ErrNoNode}
	if got, want := err.Error(), "coord: operation 2 of multi: check /a: no such znode"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Failed("open", "", context.Canceled).Error(), "coord: open: context canceled"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := Failed("get", "/a", nil); err != nil {
		t.Errorf("no reason, yet the error %v", err)
	}
	if err := CheckSize(10, 10); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestNames(t *testing.T) {
	var got []string
	for _, m := range []Mode{Persistent, Ephemeral, Sequential, EphemeralSequential, 9} {
		got = append(got, m.String())
	}
	for _, e := range []EventType{EventNodeCreated, EventNodeDeleted, EventNodeDataChanged, EventNodeChildrenChanged, EventNotWatching, 9} {
		got = append(got, e.String())
	}
	const want = "persistent, ephemeral, sequential, ephemeral sequential, mode 9, created, deleted, data changed, children changed, not watching, event 9"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
