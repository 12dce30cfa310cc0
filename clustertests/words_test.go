package clustertests

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/topologies/wordcount"
)

const (
	// blockBytes is the unit in which word count with a ledger reads.
	blockBytes = 64 << 10
	// fileBlocks is how many of them a file of the input has.
	fileBlocks = 16
)

// text is an input of any size for word count: one file of which a folder has
// many links, so that gigabytes cost nothing and are counted in no time.
type text struct {
	dir    string
	files  int
	counts map[string]int64 // of a single file
}

// newText makes an input of so many files. There are but few different words,
// for the ledger has a line for each one in each block.
func newText(t *testing.T, files int) *text {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	x := &text{dir: t.TempDir(), files: files, counts: map[string]int64{}}
	var b strings.Builder
	for b.Len() < fileBlocks*blockBytes-100 {
		word := "word" + strconv.Itoa(int(random.ExpFloat64()*20))
		x.counts[word]++
		b.WriteString(word)
		b.WriteByte(" \n"[random.IntN(2)])
	}
	first := filepath.Join(x.dir, "0")
	if err := os.WriteFile(first, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < files; i++ {
		if err := os.Link(first, filepath.Join(x.dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x *text) blocks() int { return x.files * fileBlocks }

// count is a word count that runs on a cluster.
type count struct {
	rig    *rig
	name   string
	text   *text
	ledger string
	// submitted is when its submission was begun.
	submitted time.Time
}

// countWords submits word count with one spout task, two splitters and four
// counters, and does not wait for its workers.
func (r *rig) countWords(name string, x *text, more ...string) *count {
	r.t.Helper()
	c := &count{rig: r, name: name, text: x, ledger: filepath.Join(r.dir, "ledger-"+name), submitted: time.Now()}
	r.must(append([]string{
		"submit", "wordcount", "--name", name, "--ledger", c.ledger, "--input", x.dir, "--splitters", "2", "--counters", "4",
		// What is lost with a worker comes again after two of these.
		"--set", "topology.message.timeout.secs=2",
	}, more...)...)
	return c
}

// progress is how many blocks are known to be counted.
func (c *count) progress() int {
	text, err := os.ReadFile(filepath.Join(c.ledger, "progress-0-of-1"))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// bytes is how much was ever counted by a task among the counters, and in how
// many lives: each life has a file of its own.
func (c *count) bytes(rank int) (size int64, lives int) {
	files, _ := filepath.Glob(filepath.Join(c.ledger, fmt.Sprintf("counts-%d.*", rank)))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			size += info.Size()
			lives++
		}
	}
	return size, lives
}

func (c *count) awaitProgress(blocks int) {
	c.rig.t.Helper()
	await(c.rig.t, 2*patience, fmt.Sprintf("%s has counted %d of %d blocks", c.name, blocks, c.text.blocks()), func() bool {
		return c.progress() >= blocks
	})
}

// flows waits until so many more blocks are counted.
func (c *count) flows(more int) {
	c.rig.t.Helper()
	c.awaitProgress(min(c.progress()+more, c.text.blocks()))
}

func (c *count) complete() bool {
	_, err := os.Stat(filepath.Join(c.ledger, "done-0-of-1"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.rig.t.Fatal(err)
	}
	return err == nil
}

// check waits until all is counted and compares the counts with the truth.
func (c *count) check() {
	t := c.rig.t
	t.Helper()
	await(t, 4*patience, c.name+" has counted all", c.complete)
	got, complete, err := wordcount.ReadLedger(c.ledger)
	if err != nil || !complete {
		t.Fatalf("the ledger of %s: complete %v, %v", c.name, complete, err)
	}
	for word, n := range c.text.counts {
		if want := n * int64(c.text.files); got[word] != want {
			t.Errorf("%s: word %q is counted %d times, not %d", c.name, word, got[word], want)
		}
		delete(got, word)
	}
	if len(got) > 0 {
		t.Errorf("%s: words that are not in the text are counted: %v", c.name, got)
	}
}

// kill ends the topology and waits until its workers are gone.
func (c *count) kill() {
	t := c.rig.t
	t.Helper()
	none := 0
	if err := c.rig.client.Kill(t.Context(), c.name, cluster.KillOptions{WaitSecs: &none}); err != nil {
		t.Fatalf("kill %s: %v", c.name, err)
	}
	await(t, patience, "no worker runs", func() bool { return len(c.rig.workerPIDs()) == 0 })
}
