package maven

import (
	"context"
	"crypto/sha1" // what repositories have
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a repository on this machine.
type fake struct {
	*httptest.Server
	repo *Repository

	mu    sync.Mutex
	files map[string]string
	// odd answers a path in another way, as long as it returns true.
	odd    map[string]func(w http.ResponseWriter, try int) bool
	asked  map[string]int
	pauses []time.Duration
	// busy is how many requests were under way at once, at most.
	now, busy int
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{files: map[string]string{}, odd: map[string]func(http.ResponseWriter, int) bool{}, asked: map[string]int{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.repo = f.repository(t, Settings{URL: f.URL + "/maven2/"})
	return f
}

func (f *fake) repository(t *testing.T, s Settings) *Repository {
	t.Helper()
	r, err := NewRepository(s, f.Client())
	if err != nil {
		t.Fatal(err)
	}
	r.pause = func(ctx context.Context, d time.Duration) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pauses = append(f.pauses, d)
		return ctx.Err()
	}
	return r
}

// ServeHTTP answers as repositories do.
func (f *fake) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, "/maven2/")
	f.mu.Lock()
	f.asked[path]++
	try := f.asked[path]
	odd := f.odd[path]
	text, ok := f.files[path]
	f.now++
	f.busy = max(f.busy, f.now)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now--
	}()
	if odd != nil && odd(w, try) {
		return
	}
	if !ok {
		http.NotFound(w, req)
		return
	}
	fmt.Fprint(w, text)
}

// put puts a file with its checksum there.
func (f *fake) put(path, text string) {
	sum := sha1.Sum([]byte(text))
	f.files[path], f.files[path+".sha1"] = text, hex.EncodeToString(sum[:])
}

func (f *fake) artifact(t *testing.T, name, text string) Artifact {
	t.Helper()
	a, err := ParseArtifact(name)
	if err != nil {
		t.Fatal(err)
	}
	f.put(a.path(), text)
	return a
}

func status(code int, until int) func(http.ResponseWriter, int) bool {
	return func(w http.ResponseWriter, try int) bool {
		if until > 0 && try > until {
			return false
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		return true
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFetch(t *testing.T) {
	f := newFake(t)
	var artifacts []Artifact
	var names []string
	for i := range 9 {
		a := f.artifact(t, fmt.Sprintf("g:a%d:1", i), strings.Repeat("x", i))
		artifacts = append(artifacts, a)
		names = append(names, a.File())
	}
	dir := t.TempDir()
	var told []Progress
	tell := func(p Progress) { told = append(told, p) }
	if err := f.repo.Fetch(t.Context(), artifacts, dir, tell); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, names) {
		t.Errorf("there are %q", got)
	}
	for i, p := range told {
		if p.Source != Remote || p.Done != i+1 || p.Total != 9 {
			t.Errorf("%d: %+v", i, p)
		}
	}
	if f.busy > parallel {
		t.Errorf("%d requests at once", f.busy)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a5-1.jar")); err != nil || string(text) != "xxxxx" {
		t.Errorf("%q, %v", text, err)
	}

	// Again: only what is not whole is fetched.
	if err := os.WriteFile(filepath.Join(dir, "a5-1.jar"), []byte("xx"), 0o600); err != nil {
		t.Fatal(err)
	}
	clear(f.asked)
	told = nil
	if err := f.repo.Fetch(t.Context(), artifacts, dir, tell); err != nil {
		t.Fatal(err)
	}
	for path, n := range f.asked {
		if jar := strings.HasSuffix(path, ".jar"); n != 1 || jar && path != "g/a5/1/a5-1.jar" {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	for _, p := range told {
		if want := p.Artifact.Name == "a5"; want != (p.Source == Remote) || p.Bytes != int64(p.Artifact.Name[1]-'0') {
			t.Errorf("%+v", p)
		}
	}
}

func TestFetchTriesAgain(t *testing.T) {
	short := func(w http.ResponseWriter, try int) bool {
		if try > 1 {
			return false
		}
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		return true
	}
	wrong := func(w http.ResponseWriter, try int) bool {
		if try == 1 {
			fmt.Fprint(w, "something else")
		}
		return try == 1
	}
	const half = 500 * time.Millisecond
	for name, c := range map[string]struct {
		odd    func(http.ResponseWriter, int) bool
		pauses []time.Duration
	}{
		"503":       {status(503, 2), []time.Duration{7 * time.Second, 7 * time.Second}},
		"429":       {status(429, 1), []time.Duration{7 * time.Second}},
		"cut short": {short, []time.Duration{half}},
		"damaged":   {wrong, []time.Duration{half}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			a := f.artifact(t, "g:a:1", "whole")
			f.odd[a.path()] = c.odd
			dir := t.TempDir()
			if err := f.repo.Fetch(t.Context(), []Artifact{a}, dir, nil); err != nil {
				t.Fatal(err)
			}
			if got := list(t, dir); !slices.Equal(got, []string{"a-1.jar"}) || !slices.Equal(f.pauses, c.pauses) {
				t.Errorf("there are %q, after pauses of %v", got, f.pauses)
			}
		})
	}
}

func TestFetchFails(t *testing.T) {
	always := func(text string) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, _ int) bool {
			fmt.Fprint(w, text)
			return true
		}
	}
	for name, c := range map[string]struct {
		path  string
		odd   func(http.ResponseWriter, int) bool
		is    error
		want  string
		asked int
	}{
		"not there":          {"", status(404, 0), ErrNotFound, "a-1.jar: not in the repository", 1},
		"damaged":            {"", always("else"), ErrChecksum, "(tried 2 times)", 2},
		"ill":                {"", status(500, 0), nil, "the server says 500 Internal Server Error (tried 5 times)", 5},
		"forbidden":          {"", status(403, 0), nil, "the server says 403 Forbidden", 1},
		"no checksum":        {".sha1", status(404, 0), ErrNotFound, "a-1.jar: not in the repository (nor a checksum of it)", 1},
		"an odd checksum":    {".sha1", always("<html>"), nil, "it is no checksum (tried 5 times)", 5},
		"an endless one":     {".sha1", always(strings.Repeat("0", 5000)), nil, "it is larger than anything of its kind", 1},
		"another's checksum": {".sha1", always(strings.Repeat("0", 40)), ErrChecksum, "not 0000000000000000000000000000000000000000) (tried 2 times)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			a := f.artifact(t, "g:a:1", "whole")
			f.odd[a.path()+c.path] = c.odd
			dir := t.TempDir()
			err := f.repo.Fetch(t.Context(), []Artifact{a}, dir, nil)
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v, not %s", err, c.want)
			}
			if got := list(t, dir); len(got) > 0 {
				t.Errorf("there are %q", got)
			}
			if n := f.asked[a.path()+c.path]; n != c.asked {
				t.Errorf("it was asked for %d times", n)
			}
		})
	}
}

func TestFetchSHA256(t *testing.T) {
	f := newFake(t)
	a := f.artifact(t, "g:a:1", "whole")
	delete(f.files, a.path()+".sha1")
	sum := sha256.Sum256([]byte("whole"))
	f.files[a.path()+".sha256"] = "SHA256(a-1.jar)= " + strings.ToUpper(hex.EncodeToString(sum[:])) + "\n"
	if err := f.repo.Fetch(t.Context(), []Artifact{a}, t.TempDir(), nil); err != nil {
		t.Error(err)
	}
}

func TestFetchIsCancelled(t *testing.T) {
	f := newFake(t)
	var artifacts []Artifact
	reached, free := make(chan struct{}, 100), make(chan struct{})
	defer close(free)
	for i := range 8 {
		a := f.artifact(t, fmt.Sprintf("g:a%d:1", i), "text")
		artifacts = append(artifacts, a)
		f.odd[a.path()] = func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Length", "4")
			fmt.Fprint(w, "te")
			w.(http.Flusher).Flush()
			reached <- struct{}{}
			<-free
			return true
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	done := make(chan error, 1)
	go func() { done <- f.repo.Fetch(ctx, artifacts, dir, nil) }()
	for range parallel {
		<-reached
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := list(t, dir); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
}

func TestFetchRefuses(t *testing.T) {
	f := newFake(t)
	one, two := f.artifact(t, "g:a:1", "x"), f.artifact(t, "h:a:1", "y")
	err := f.repo.Fetch(t.Context(), []Artifact{one, two}, t.TempDir(), nil)
	if err == nil || err.Error() != "g:a:1 and h:a:1 are both called a-1.jar" {
		t.Error(err)
	}
	evil := one
	evil.Name = "../x"
	if err := f.repo.Fetch(t.Context(), []Artifact{evil}, t.TempDir(), nil); err == nil {
		t.Error("it went through")
	}
	err = f.repo.Fetch(t.Context(), []Artifact{one}, filepath.Join(t.TempDir(), "none"), nil)
	if !errors.Is(err, fs.ErrNotExist) || f.asked[one.path()] != 1 {
		t.Errorf("%v, asked %d times", err, f.asked[one.path()])
	}
}

// keep puts a file into a local repository, with the checksum of sum.
func keep(t *testing.T, dir, path, text, sum string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	h := sha1.Sum([]byte(sum))
	for name, text := range map[string]string{file: text, file + ".sha1": hex.EncodeToString(h[:])} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLocalRepository(t *testing.T) {
	f := newFake(t)
	local := t.TempDir()
	r := f.repository(t, Settings{URL: f.URL + "/maven2", Local: local})
	good, bad, bare := f.artifact(t, "g:good:1", "good"), f.artifact(t, "g:bad:1", "right"), f.artifact(t, "g:bare:1", "bare")
	keep(t, local, good.path(), "good", "good")
	keep(t, local, bad.path(), "wrong", "right")
	keep(t, local, bare.path(), "bare", "")
	if err := os.Remove(filepath.Join(local, filepath.FromSlash(bare.path())+".sha1")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	from := map[string]Source{}
	err := r.Fetch(t.Context(), []Artifact{good, bad, bare}, dir, func(p Progress) { from[p.Artifact.Name] = p.Source })
	if err != nil {
		t.Fatal(err)
	}
	if from["good"] != Local || from["bad"] != Remote || from["bare"] != Local {
		t.Error(from)
	}
	want := map[string]int{bad.path(): 1, bad.path() + ".sha1": 1, bare.path() + ".sha1": 1}
	if fmt.Sprint(f.asked) != fmt.Sprint(want) {
		t.Errorf("asked for %v", f.asked)
	}

	c := Coordinates{Group: "g", Name: "p", Version: "1"}
	f.put(c.pom(), "<project/>")
	keep(t, local, c.pom(), "<damaged", "<project/>")
	for range 2 {
		if text, err := r.POM(t.Context(), c); err != nil || string(text) != "<project/>" {
			t.Errorf("%q, %v", text, err)
		}
		keep(t, local, c.pom(), "<project/>", "<project/>")
	}
	if f.asked[c.pom()] != 1 {
		t.Errorf("the POM was asked for %d times", f.asked[c.pom()])
	}
}

func TestPOMTooLarge(t *testing.T) {
	f := newFake(t)
	c := Coordinates{Group: "g", Name: "p", Version: "1"}
	f.put(c.pom(), strings.Repeat(" ", maxPOMBytes+1))
	if _, err := f.repo.POM(t.Context(), c); err == nil || !strings.HasSuffix(err.Error(), "it is larger than anything of its kind") {
		t.Error(err)
	}
}

func TestRepositoryHidesPasswords(t *testing.T) {
	r, err := NewRepository(Settings{URL: "https://me:secret@127.0.0.1:1/x/"}, &http.Client{Transport: http.NewFileTransport(http.Dir(t.TempDir()))})
	if err != nil {
		t.Fatal(err)
	}
	r.pause = func(context.Context, time.Duration) error { return nil }
	_, err = r.POM(t.Context(), Coordinates{Group: "g", Name: "a", Version: "1"})
	if got := fmt.Sprint(r, err); strings.Contains(got, "secret") || !strings.HasPrefix(got, "https://me:xxxxx@127.0.0.1:1/x") {
		t.Error(got)
	}
	for _, u := range []string{"", "x", "ftp://h", "http://", "http://[", "file:///x"} {
		if _, err := NewRepository(Settings{URL: u}, nil); err == nil {
			t.Errorf("%q is taken", u)
		}
	}
}

func TestPause(t *testing.T) {
	if err := pause(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestUserSettings(t *testing.T) {
	home := t.TempDir()
	local := filepath.Join(home, ".m2", "repository")
	mirror := func(of, more string) string {
		return "<mirror><mirrorOf>" + of + "</mirrorOf><url> http://m/${user.home} </url>" + more + "</mirror>"
	}
	for name, c := range map[string]struct {
		text string
		want Settings
	}{
		"none":      {"", Settings{Local: local}},
		"empty":     {"<settings/>", Settings{Local: local}},
		"central":   {"<settings><mirrors>" + mirror("other", "") + mirror("x, central", "") + "</mirrors></settings>", Settings{URL: "http://m/" + home, Local: local}},
		"all":       {"<settings><mirrors>" + mirror("*", "") + "</mirrors></settings>", Settings{URL: "http://m/" + home, Local: local}},
		"external":  {"<settings><mirrors>" + mirror("external:*,!other", "") + "</mirrors></settings>", Settings{URL: "http://m/" + home, Local: local}},
		"all but":   {"<settings><mirrors>" + mirror("*,!central", "") + "</mirrors></settings>", Settings{Local: local}},
		"http only": {"<settings><mirrors>" + mirror("external:http:*", "<blocked>true</blocked>") + "</mirrors></settings>", Settings{Local: local}},
		"local":     {"<settings xmlns='x'><localRepository>${user.home}/r</localRepository></settings>", Settings{Local: filepath.Join(home, "r")}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(home, ".m2", "settings.xml")
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				t.Fatal(err)
			}
			if c.text != "" {
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(file)
			}
			if got, err := UserSettings(home); err != nil || got != c.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if got, err := UserSettings(""); err != nil || got != (Settings{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(home, ".m2", "settings.xml"), []byte("<settings>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := UserSettings(home); err == nil || !strings.Contains(err.Error(), "settings.xml: it cannot be read") {
		t.Error(err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte("<settings><mirrors><mirror><mirrorOf>*</mirrorOf><url>http://x</url></mirror></mirrors></settings>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := (Settings{}).with(text, "/home"); err == nil {
			if _, err := NewRepository(s, http.DefaultClient); err != nil {
				return
			}
		}
	})
}

func FuzzParseChecksum(f *testing.F) {
	f.Add(strings.Repeat("0", 40))
	f.Add("SHA1(x)= " + strings.Repeat("A", 40))
	f.Fuzz(func(t *testing.T, text string) {
		sum, ok := parseChecksum(text)
		if ok != (sum != "") || ok && len(sum) != 2*sum.hash().Size() {
			t.Errorf("%q is %q, %t", text, sum, ok)
		}
	})
}
