package client

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stormring/stormring/nimbus/blobstore"
)

// elsewhere is how a nimbus refuses that leads no more.
type elsewhere struct{}

func (elsewhere) Error() string  { return "not the leader; no nimbus leads at the moment" }
func (elsewhere) Public() string { return elsewhere{}.Error() }

// TestTheLeaderChangesDuringAnUpload: what is uploaded once more is all of it,
// or nothing.
func TestTheLeaderChangesDuringAnUpload(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	refuseOnce := func(name string) {
		s.said()
		refused := false
		s.set(func(call string) error {
			if call != name || refused {
				return nil
			}
			refused = true
			return elsewhere{}
		})
	}
	submit := func(jar io.Reader) error {
		return c.Submit(t.Context(), Submission{Name: "w", Conf: "{}", Jar: jar})
	}
	jar := strings.NewReader("skipped, the jar")
	if _, err := jar.Seek(9, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	refuseOnce("submit:here")
	if err := submit(jar); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "begin chunk7 finish submit:here begin chunk7 finish submit:here" {
		t.Error(got)
	}
	// A pipe has the methods of a file, but cannot be read twice.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.WriteString("the jar")
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, once := range []io.Reader{r, struct{ io.Reader }{strings.NewReader("the jar")}} {
		refuseOnce("submit:here")
		if err := submit(once); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "cannot be read twice") {
			t.Errorf("%T: %v", once, err)
		}
		if got := s.said(); got != "begin chunk7 finish submit:here" {
			t.Errorf("%T: %s", once, got)
		}
		// Nothing is read before the upload begins.
		refuseOnce("begin")
		if err := submit(struct{ io.Reader }{strings.NewReader("the jar")}); err != nil {
			t.Error(err)
		}
	}
	refuseOnce("finish")
	if err := c.CreateBlob(t.Context(), "k", blobstore.Meta{}, strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "create blobchunk finish create blobchunk finish" {
		t.Error(got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
