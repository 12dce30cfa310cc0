package maven

import (
	"bytes"
	"context"
	"crypto/sha1" // what repositories have
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrChecksum is about a file that is not what the repository says it is.
var ErrChecksum = errors.New("the file is damaged: its checksum is not that of the repository")

const (
	// maxPOMBytes bounds a POM.
	maxPOMBytes = 16 << 20
	// maxChecksumBytes bounds a file with a checksum.
	maxChecksumBytes = 4096
	// tries is how often a request is made.
	tries = 5
	// maxDamaged is how often a file may arrive damaged.
	maxDamaged = 2
	// firstPause is the time before the second try; it doubles.
	firstPause = 500 * time.Millisecond
	// longestPause bounds what a server may ask for.
	longestPause = 30 * time.Second
)

// Repository is a Maven repository: the one at a URL, and what the local one
// has of it. Every file is checked against the checksum that the repository
// keeps beside it.
type Repository struct {
	base   *url.URL
	local  string
	client *http.Client
	// pause waits before another try; tests do not.
	pause func(ctx context.Context, d time.Duration) error
}

// NewRepository is the repository that settings speak of. The client's
// transport decides about proxies; nil is one that heeds the environment.
func NewRepository(s Settings, client *http.Client) (*Repository, error) {
	u, err := url.Parse(strings.TrimRight(s.URL, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a repository; it has to begin with http:// or https://", s.URL)
	}
	if client == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = time.Minute
		client = &http.Client{Transport: t}
	}
	return &Repository{base: u, local: s.Local, client: client, pause: pause}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Close gives up the connections that were kept.
func (r *Repository) Close() { r.client.CloseIdleConnections() }

// String is the repository's address, without a password.
func (r *Repository) String() string { return r.base.Redacted() }

var _ POMs = (*Repository)(nil)

// POM implements [POMs].
func (r *Repository) POM(ctx context.Context, c Coordinates) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	path := c.pom()
	if text, ok := r.localPOM(path); ok {
		return text, nil
	}
	sum, err := r.checksum(ctx, path)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = r.get(ctx, path, func(body io.Reader) error {
		text.Reset()
		h := sum.hash()
		_, err := io.Copy(&text, io.TeeReader(atMost(body, maxPOMBytes), h))
		if err != nil {
			return err
		}
		return sum.check(h)
	})
	return text.Bytes(), err
}

// localPOM is a POM of the local repository, if it is there whole.
func (r *Repository) localPOM(path string) ([]byte, bool) {
	if r.local == "" {
		return nil, false
	}
	file := filepath.Join(r.local, filepath.FromSlash(path))
	sum, ok := localChecksum(file)
	if !ok {
		return nil, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	h := sum.hash()
	h.Write(text)
	return text, sum.check(h) == nil
}

// checksum is what the repository says about the file at path.
func (r *Repository) checksum(ctx context.Context, path string) (checksum, error) {
	for _, kind := range []string{".sha1", ".sha256"} {
		var sum checksum
		err := r.get(ctx, path+kind, func(body io.Reader) error {
			text, err := io.ReadAll(atMost(body, maxChecksumBytes))
			if err != nil {
				return err
			}
			var ok bool
			if sum, ok = parseChecksum(string(text)); !ok {
				return errors.New("it is no checksum")
			}
			return nil
		})
		if err == nil {
			return sum, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return sum, err
		}
	}
	// Most likely the file itself is not there either.
	return "", fmt.Errorf("%s: %w (nor a checksum of it)", r.at(path), ErrNotFound)
}

// at is the address of a path, for messages.
func (r *Repository) at(path string) string { return r.base.JoinPath(path).Redacted() }

// get reads the file at path, again if that may help.
func (r *Repository) get(ctx context.Context, path string, read func(io.Reader) error) error {
	wait, damaged := firstPause, 0
	for try := 1; ; try++ {
		after, err := r.once(ctx, path, read)
		if errors.Is(err, ErrChecksum) {
			damaged++
		}
		f, final := errors.AsType[*fatalError](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", r.at(path), context.Cause(ctx))
		case final:
			return fmt.Errorf("%s: %w", r.at(path), f.error)
		case try == tries || damaged == maxDamaged:
			return fmt.Errorf("%s: %w (tried %d times)", r.at(path), err, try)
		}
		if err := r.pause(ctx, min(max(after, wait), longestPause)); err != nil {
			return fmt.Errorf("%s: %w", r.at(path), err)
		}
		wait *= 2
	}
}

// fatalError is about what another try does not help.
type fatalError struct{ error }

// once makes one request; after is how long the server asks to wait.
func (r *Repository) once(ctx context.Context, path string, read func(io.Reader) error) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return 0, &fatalError{err}
	}
	req.Header.Set("User-Agent", "stormring")
	resp, err := r.client.Do(req)
	if err != nil {
		// Without the address, which is said anyway and may have a password.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, err
	}
	defer resp.Body.Close()
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return 0, read(resp.Body)
	case code == http.StatusNotFound || code == http.StatusGone:
		return 0, &fatalError{ErrNotFound}
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= http.StatusInternalServerError:
		if secs, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil && secs > 0 {
			after = secs
		}
		return after, fmt.Errorf("the server says %s", resp.Status)
	default:
		return 0, &fatalError{fmt.Errorf("the server says %s", resp.Status)}
	}
}

// atMost is r, with an error if there is more in it than limit bytes.
func atMost(r io.Reader, limit int64) io.Reader { return &bounded{r: r, left: limit} }

type bounded struct {
	r    io.Reader
	left int64
}

// Read reads, and fails beyond the bound.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &fatalError{errors.New("it is larger than anything of its kind")}
	}
	return n, err
}

// checksum is a hash in hexadecimal digits, of SHA-1 or SHA-256.
type checksum string

// parseChecksum finds the checksum in a file of some tool.
func parseChecksum(text string) (checksum, bool) {
	for word := range strings.FieldsSeq(text) {
		word = strings.ToLower(word)
		if _, err := hex.DecodeString(word); err == nil && (len(word) == 2*sha1.Size || len(word) == 2*sha256.Size) {
			return checksum(word), true
		}
	}
	return "", false
}

func (c checksum) hash() hash.Hash {
	if len(c) == 2*sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

func (c checksum) check(h hash.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != string(c) {
		return fmt.Errorf("%w (%s, not %s)", ErrChecksum, got, c)
	}
	return nil
}

// ofFile tells whether the file is there and has the checksum, and its size.
func (c checksum) ofFile(file string) (size int64, ok bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	h := c.hash()
	size, err = io.Copy(h, f)
	return size, err == nil && c.check(h) == nil, err
}

// localChecksum is what Maven has written down of a file of the local
// repository when it fetched it.
func localChecksum(file string) (checksum, bool) {
	for _, kind := range []string{".sha1", ".sha256"} {
		if text, err := os.ReadFile(file + kind); err == nil {
			return parseChecksum(string(text))
		}
	}
	return "", false
}
