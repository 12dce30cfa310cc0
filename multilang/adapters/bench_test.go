package adapters_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkPipe is what an adapter does at most: `cat FILE | bolt | cat`. Each
// tuple is emitted again and acked.
func BenchmarkPipe(b *testing.B) {
	for _, l := range languages {
		b.Run(l.name, func(b *testing.B) {
			l.require(b)
			dir := l.install(b, "bolt", "")
			file := filepath.Join(dir, "input")
			writeInput(b, file, b.N)
			bolt := l.command(b.Context(), dir, "bolt")
			// The shell makes the pipes, so that no goroutine copies anything.
			line := `cat input | "$@" | cat >/dev/null`
			cmd := exec.CommandContext(b.Context(), "sh", append([]string{"-c", line, "sh"}, bolt.Args...)...) //nolint:gosec // names of ours
			cmd.Dir, cmd.Env, cmd.Stderr = dir, bolt.Env, os.Stderr
			b.ResetTimer()
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
			report(b)
		})
	}
}

// BenchmarkWindow has a fixed number of tuples under way, as a worker does.
func BenchmarkWindow(b *testing.B) {
	for _, l := range languages {
		for _, window := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", l.name, window), func(b *testing.B) {
				l.require(b)
				p := connect(b, l, "bolt", "")
				b.ResetTimer()
				pump(b, p, window)
				report(b)
			})
		}
	}
}

// pump sends b.N tuples, at most window of them before their acks.
func pump(b *testing.B, p *parent, window int) {
	b.Helper()
	may := make(chan int, window) // how many more to send; a child may write before it reads all
	may <- min(window, b.N)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer close(may)
	sending.Go(func() {
		in := bufio.NewWriterSize(p.in, 1<<16)
		sent := 0
		for n := range may {
			for range min(n, b.N-sent) {
				writeTuple(in, sent)
				sent++
			}
			if err := in.Flush(); err != nil {
				b.Error(err)
			}
		}
	})
	for acked := 0; acked < b.N; {
		// What has come, and at least one ack.
		n := 0
		for n == 0 || p.out.Buffered() > 0 {
			line, err := p.out.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) > 14 && line[12] == 'a' { // {"command":"ack
				n++
			}
		}
		acked += n
		may <- n
	}
}

func writeTuple(w io.Writer, i int) {
	fmt.Fprintf(w, `{"id":"%d","comp":"words","stream":"default","task":3,"tuple":["echo","word number %d"]}`+"\nend\n", 1<<40+i, i%100)
}

func writeInput(b *testing.B, file string, n int) {
	b.Helper()
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, `{"pidDir":"","conf":{"greeting":1},"context":{"taskid":5}}`+"\nend\n")
	for i := range n {
		writeTuple(w, i)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

func report(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tuples/s")
}
