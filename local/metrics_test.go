package local

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stormring/stormring/storm"
)

// urlCatcher is a log handler that waits for the metrics' address.
type urlCatcher struct {
	slog.Handler
	url chan string
}

func (c urlCatcher) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "url" {
			c.url <- a.Value.String()
		}
		return true
	})
	return c.Handler.Handle(ctx, r)
}

func (c urlCatcher) Enabled(context.Context, slog.Level) bool { return true }
func (c urlCatcher) WithAttrs(attrs []slog.Attr) slog.Handler { return c }

// scrape returns the sums of all metrics by name and component.
func scrape(t *testing.T, url string) map[string]float64 {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s, error %v: %s", resp.Status, err, body)
	}
	line := regexp.MustCompile(`^stormring_(\w+)\{.*component="([^"]+)".*\} (\S+)$`)
	sums := map[string]float64{}
	for text := range strings.Lines(string(body)) {
		if m := line.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			n, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[m[1]+" "+m[2]] += n
		}
	}
	return sums
}

// Scraped while the topology is busy the counters never fall, and once it is
// at rest they are exact.
func TestMetricsWhileItRuns(t *testing.T) {
	const n = 6000
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			var settled atomic.Int64
			quiet := make(chan struct{})
			done := func() {
				if settled.Add(1) == n {
					close(quiet)
				}
			}
			var left atomic.Bool // the spout says that it has come to its end
			spout := upTo(n)
			spout.ack = func(*fake, storm.Value) { done() }
			spout.fail = func(*fake, storm.Value) { done() }
			spout.over = func(*fake) bool { return left.Load() }
			middle := fake{execute: func(f *fake, tp storm.Tuple) error {
				f.bolt.Emit(&tp, tp.Value(0))
				f.bolt.Emit(&tp, tp.Value(0))
				f.bolt.Ack(&tp)
				return nil
			}}
			last := fake{execute: func(f *fake, tp storm.Tuple) error {
				if tp.Int(0)%10 == 0 {
					f.bolt.Fail(&tp)
				} else {
					f.bolt.Ack(&tp)
				}
				return nil
			}}
			top := launch(t, pair(t, spout, middle, func(b *storm.TopologyBuilder) {
				b.SetBolt("last", boltOf(last), 3).FieldsGrouping("bolt", "n")
			}), Options{
				MetricsAddr: "127.0.0.1:0",
				Conf:        storm.Config{"topology.workers": workers, "topology.max.spout.pending": 300},
			})
			newTCP().use(top)
			catcher := urlCatcher{slog.DiscardHandler, make(chan string, 1)}
			top.log = slog.New(catcher)
			var wg sync.WaitGroup
			wg.Go(func() {
				if res, err := top.Run(t.Context()); err != nil || res.Partial {
					t.Errorf("result %+v, error %v", res, err)
				}
			})
			url := <-catcher.url
			before := scrape(t, url)
			for busy := true; busy; {
				select {
				case <-quiet:
					busy = false
				default:
					now := scrape(t, url)
					for name, v := range before {
						if strings.Contains(name, "_total ") && now[name] < v {
							t.Errorf("%s fell from %v to %v", name, v, now[name])
						}
					}
					before = now
				}
			}
			want := map[string]float64{
				"emitted_total spout": n, "transferred_total spout": n,
				"acked_total spout": n * 9 / 10, "failed_total spout": n / 10,
				"executed_total bolt": n, "acked_total bolt": n, "failed_total bolt": 0,
				"emitted_total bolt": 2 * n, "executed_total last": 2 * n,
				"acked_total last": 2 * n * 9 / 10, "failed_total last": 2 * n / 10,
				"pending_trees spout": 0, "queue_tuples bolt": 0, "queue_tuples last": 0,
			}
			wait(t, func() string {
				got := scrape(t, url)
				for name, v := range want {
					if got[name] != v {
						return fmt.Sprintf("%s is %v, not %v", name, got[name], v)
					}
				}
				return ""
			})
			left.Store(true)
			wg.Wait()
		})
	}
}

// wait waits until check finds nothing wrong.
func wait(t *testing.T, check func() (wrong string)) {
	t.Helper()
	wrong := ""
	for range 1000 {
		if wrong = check(); wrong == "" {
			return
		}
	}
	t.Error(wrong)
}
