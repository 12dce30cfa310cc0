package demo

import (
	"bufio"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stormring/stormring/topologies/statefulwordcount"
)

const (
	// pageLines is how many lines of the text are a page. Each word of each page
	// has a count of its own: that makes the state of a real text large.
	pageLines = 8
	// entryBytes is what an entry of the state takes beside its key: a number,
	// and what the ring's own table needs.
	entryBytes = 8 + 16
)

// corpus is the text: documents, over and over.
type corpus struct {
	label string
	docs  []document
}

// document is a file of the corpus, or its text.
type document struct{ name, path, text string }

func (d document) read() (string, error) {
	if d.path == "" {
		return d.text, nil
	}
	b, err := os.ReadFile(d.path)
	if err != nil {
		return "", fmt.Errorf("the text: %w", err)
	}
	return string(b), nil
}

// findCorpus is what is in dir, else the sources of Go, else a text that is built
// in.
func findCorpus(dir string) (corpus, error) {
	if dir != "" {
		c := corpus{label: dir}
		err := c.walk(dir, "")
		if err == nil && len(c.docs) == 0 {
			err = errors.New("there is no file in it")
		}
		if err != nil {
			return c, fmt.Errorf("the text in %s: %w", dir, err)
		}
		return c, nil
	}
	root := os.Getenv("GOROOT")
	if root == "" {
		root = build.Default.GOROOT
	}
	if root != "" {
		c := corpus{label: "the sources of Go"}
		if err := c.walk(filepath.Join(root, "src"), ".go"); err == nil && len(c.docs) > 0 {
			return c, nil
		}
	}
	c := corpus{label: "Stormring's documentation"}
	for part := range strings.SplitSeq(statefulwordcount.Text(), "\f") {
		if name, text, _ := strings.Cut(part, "\n"); text != "" {
			c.docs = append(c.docs, document{name: name, text: text})
		}
	}
	return c, nil
}

func (c *corpus) walk(dir, suffix string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			c.docs = append(c.docs, document{name: strings.Join(strings.Fields(name), "_"), path: path})
		}
		return err
	})
}

// feed writes the text to the file that the topology reads, and counts what it
// writes in its own way.
type feed struct {
	corpus corpus
	path   string
	file   *os.File
	out    *bufio.Writer

	doc, pass int
	name      string // of the document, "" before the first line of one
	rest      string // of the document
	line      int    // of the document

	page   string
	counts map[string]uint32 // of the page
	ledger ledger
}

func newFeed(c corpus, path string) (*feed, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("the text: %w", err)
	}
	return &feed{corpus: c, path: path, file: f, out: bufio.NewWriterSize(f, 256<<10), pass: 1, counts: map[string]uint32{}}, nil
}

// write writes n lines.
func (f *feed) write(n int) error {
	for range n {
		if err := f.next(); err != nil {
			return err
		}
	}
	return f.flush()
}

// fill writes lines until the state has that many bytes.
func (f *feed) fill(state int64) error {
	for f.ledger.bytes < state {
		for range 64 {
			if err := f.next(); err != nil {
				return err
			}
		}
	}
	return f.flush()
}

func (f *feed) flush() error {
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("the text: %w", err)
	}
	return nil
}

// end says that there will be no more.
func (f *feed) end() error {
	f.closePage()
	f.ledger.close()
	err := errors.Join(f.out.Flush(), f.file.Close())
	if err == nil {
		err = os.WriteFile(f.path+".end", nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the text: %w", err)
	}
	return nil
}

// next writes a line.
func (f *feed) next() error {
	for f.rest == "" {
		if err := f.open(); err != nil {
			return err
		}
	}
	text, rest, _ := strings.Cut(f.rest, "\n")
	f.rest = rest
	// A form feed would be taken for the name of a page.
	text = strings.TrimLeft(strings.TrimRight(text, "\r"), "\f")
	f.put(text + "\n")
	if f.line%pageLines == 0 {
		f.closePage()
		f.page = f.name + ":" + strconv.Itoa(f.line/pageLines+1)
	}
	f.line++
	for word := range strings.FieldsSeq(text) {
		f.counts[word]++
	}
	return nil
}

// open goes on to the next document.
func (f *feed) open() error {
	if f.doc == len(f.corpus.docs) {
		if len(f.ledger.entries)+len(f.counts) == 0 {
			return errors.New("the text: there is no word in it")
		}
		f.doc = 0
		f.pass++
	}
	d := f.corpus.docs[f.doc]
	f.doc++
	text, err := d.read()
	if err != nil {
		return err
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i] // it is no text
	}
	f.name = d.name
	if f.pass > 1 {
		f.name += "," + strconv.Itoa(f.pass) // another copy, which is counted for itself
	}
	f.rest, f.line = text, 0
	if text != "" {
		f.closePage()
		f.put("\f" + f.name + "\n")
	}
	return nil
}

// put writes; flush tells whether that went well.
func (f *feed) put(text string) { _, _ = f.out.WriteString(text) }

// closePage enters the counts of a page into the ledger.
func (f *feed) closePage() {
	for word, n := range f.counts {
		f.ledger.add(word, f.page, n)
	}
	clear(f.counts)
}
