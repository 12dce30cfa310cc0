package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the server. A scrape is small and rare; whatever takes longer or
// asks for more is no scraper.
const (
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute // longer than usual scrape intervals
	maxHeaderBytes = 16 << 10
	maxScrapes     = 4 // at once; further ones get 503
	stopTimeout    = 2 * time.Second
)

// Serve answers GET /metrics with src's numbers and those of the Go runtime
// and the process, and GET /healthz with "ok", on TCP address addr ("host:port",
// port 0 for any). It returns the address it listens on, or an error if it
// cannot listen there.
//
// The server stops when ctx is done. wait blocks until it has, and is nil then;
// it is an error if the server gave up before. wait may be called repeatedly.
//
// log gets what goes wrong with single scrapes; nil is for nobody.
func Serve(ctx context.Context, addr string, src Source, log *slog.Logger) (actual net.Addr, wait func() error, err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("monitor: listening on %q for Prometheus: %w", addr, err)
	}
	errorLog := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	srv := &http.Server{
		Handler:           handler(src, errorLog),
		ErrorLog:          errorLog,
		ReadTimeout:       readTimeout,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	var result error
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		result = run(ctx, srv, ln, stopTimeout)
	}()
	return ln.Addr(), func() error { <-stopped; return result }, nil
}

// run serves until ctx is done or the listener fails. Scrapes under way have
// the time of grace to end; whoever is slower is cut off.
func run(ctx context.Context, srv *http.Server, ln net.Listener, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("monitor: serving Prometheus on %s: %w", ln.Addr(), errors.Join(err, srv.Close()))
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if stopped := <-served; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	if err != nil {
		return fmt.Errorf("monitor: closing %s: %w", ln.Addr(), err)
	}
	return nil
}

// handler serves a registry of its own, so that several workers may live in
// one process.
func handler(src Source, errorLog promhttp.Logger) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		NewCollector(src),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            errorLog,
		ErrorHandling:       promhttp.ContinueOnError, // one bad value is no reason to go blind
		Registry:            reg,
		MaxRequestsInFlight: maxScrapes,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok\n") //nolint:errcheck // the asker has gone
	})
	return mux
}
