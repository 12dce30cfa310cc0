package monitor

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const loopback = "127.0.0.1:0"

// start serves src until the test ends and returns the server's URL.
func start(t *testing.T, src Source, log *slog.Logger) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	addr, wait, err := Serve(ctx, loopback, src, log)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + addr.String()
}

// ask sends one request on a connection of its own.
func ask(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestScrape(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections() // of ScrapeAndCompare
	url := start(t, words(), nil)
	var names []string
	for name := range families() {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 2 { // scraping changes nothing
		if err := testutil.ScrapeAndCompare(url+"/metrics", strings.NewReader(everything()), names...); err != nil {
			t.Error(err)
		}
	}
	_, body := ask(t, http.MethodGet, url+"/metrics")
	for _, name := range []string{"go_goroutines ", "process_cpu_seconds_total ", `promhttp_metric_handler_errors_total{cause="gathering"} 0`} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no %q in\n%s", name, body)
		}
	}
}

func TestPaths(t *testing.T) {
	url := start(t, fixed{}, nil)
	tests := []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, "/healthz", 200, "ok\n"},
		{http.MethodHead, "/healthz", 200, ""},
		{http.MethodPost, "/healthz", 405, "Method Not Allowed\n"},
		{http.MethodPost, "/metrics", 405, "Method Not Allowed\n"},
		{http.MethodGet, "/", 404, "404 page not found\n"},
	}
	for _, tc := range tests {
		status, body := ask(t, tc.method, url+tc.path)
		if status != tc.status || body != tc.body {
			t.Errorf("%s %s: %d %q, want %d %q", tc.method, tc.path, status, body, tc.status, tc.body)
		}
	}
}

func TestOneBadValueHidesNoOther(t *testing.T) {
	var log bytes.Buffer
	url := start(t, fixed{{Values: []Value{{"peers", 3}, {"peers", 4}}}}, slog.New(slog.NewTextHandler(&log, nil)))
	status, body := ask(t, http.MethodGet, url+"/metrics")
	want := `stormring_peers{component="",tasks="",topology="",worker=""} 3`
	if status != 200 || !strings.Contains(body, want) {
		t.Errorf("%d, no %q in\n%s", status, want, body)
	}
	if !strings.Contains(log.String(), "was collected before with the same name and label values") {
		t.Errorf("log says %q", log.String())
	}
}

// blocking is a Source that takes until release is closed.
type blocking struct{ entered, release chan struct{} }

func (b blocking) Snapshots() []Labeled {
	close(b.entered)
	<-b.release
	return words()
}

func TestScrapeUnderWayIsAnswered(t *testing.T) {
	src := blocking{make(chan struct{}), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	addr, wait, err := Serve(ctx, loopback, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		defer close(answer) // also if ask gives up
		status, body := ask(t, http.MethodGet, "http://"+addr.String()+"/metrics")
		answer <- http.StatusText(status) + "\n" + body
	}()
	<-src.entered
	cancel()
	close(src.release)
	if got := <-answer; !strings.HasPrefix(got, "OK\n") || !strings.Contains(got, "\nstormring_peers") {
		t.Errorf("got %q", got)
	}
	for range 2 {
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
	var d net.Dialer
	if conn, err := d.DialContext(t.Context(), "tcp", addr.String()); err == nil {
		conn.Close()
		t.Error("still listening after wait")
	}
}

func TestServeFails(t *testing.T) {
	_, _, err := Serve(t.Context(), "127.0.0.1:http-of-nobody", fixed{}, nil)
	if err == nil || !strings.Contains(err.Error(), `monitor: listening on "127.0.0.1:http-of-nobody"`) {
		t.Errorf("error %v", err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestRunGivesUpWithItsListener(t *testing.T) {
	ln := listen(t)
	ln.Close()
	err := run(t.Context(), &http.Server{ReadHeaderTimeout: time.Second}, ln, time.Second)
	if err == nil || !strings.Contains(err.Error(), "monitor: serving Prometheus on "+ln.Addr().String()) {
		t.Errorf("error %v", err)
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	ln := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered := make(chan struct{})
	srv := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(entered)
			io.Copy(io.Discard, r.Body)
		}),
	}
	done := make(chan error, 1)
	go func() { done <- run(ctx, srv, ln, time.Millisecond) }()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	<-entered
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("connection ends with %v", err)
	}
}
