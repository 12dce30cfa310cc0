package clienttests

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// blobLine is a line of `blobstore list`.
var blobLine = regexp.MustCompile(`INFO .* - (\S+) (-?\d+) \[(.*)\]\n$`)

type blob struct{ key, version, acl string }

// listBlobs runs `blobstore list`.
func listBlobs(t *testing.T, r runner, keys ...string) []blob {
	t.Helper()
	var found []blob
	for line := range strings.Lines(r.run(t, storm+"Blobstore", append([]string{"list"}, keys...)...).ok(t).out) {
		if m := blobLine.FindStringSubmatch(line); m != nil {
			found = append(found, blob{key: m[1], version: m[2], acl: m[3]})
		}
	}
	return found
}

// blobs are the keys of all blobs, sorted.
func blobs(t *testing.T, r runner) []string {
	t.Helper()
	var keys []string
	for _, b := range listBlobs(t, r) {
		keys = append(keys, b.key)
	}
	slices.Sort(keys)
	return keys
}

// TestBlobstore28 runs every subcommand of Storm 2.8's blobstore, the first of
// each kind in a process of its own.
func TestBlobstore28(t *testing.T) {
	c := newClient(t, "2.8", startCluster(t))
	d := c.driver(t)
	blobstore := func(r runner, args ...string) result { return r.run(t, storm+"Blobstore", args...) }
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := file("one", "one\n"), file("two", "two\n")

	c.runWith(t, "one\n", storm+"Blobstore", "create", "key", "-a", "u:bob:rwa,o::r").ok(t,
		" - Creating key with ACL [u:bob:rwa, o::r--]\n", " - Successfully created key\n")
	blobstore(d, "create", "-f", one, "key").fails(t, "KeyAlreadyExistsException(msg:key)")
	blobstore(d, "create", "-f", one, "bad/key").fails(t,
		"java.lang.IllegalArgumentException: bad/key does not appear to be a valid blob key")
	if got := blobstore(c, "cat", "key").ok(t).printed(); got != "one\n" {
		t.Errorf("cat prints %q", got)
	}
	first := oneBlob(t, listBlobs(t, c))
	if first.key != "key" || !strings.HasPrefix(first.acl, "u:bob:rwa, o::r--") {
		t.Errorf("list shows %v", first)
	}

	blobstore(c, "update", "-f", two, "key").ok(t, " - Successfully updated key\n")
	if got := blobstore(d, "cat", "key").ok(t).printed(); got != "two\n" {
		t.Errorf("after update, cat prints %q", got)
	}
	if second := oneBlob(t, listBlobs(t, d, "key")); second.version == first.version || second.acl != first.acl {
		t.Errorf("update made %v of %v", second, first)
	}

	blobstore(c, "set-acl", "-s", "u:bob:r,o::w", "key").ok(t, " - Setting ACL for key to [u:bob:r--, o::-w-]\n")
	if got := oneBlob(t, listBlobs(t, d, "key")); !strings.HasPrefix(got.acl, "u:bob:r--") {
		t.Errorf("after set-acl, list shows %v", got)
	}
	blobstore(c, "replication", "--read", "key").ok(t, " - Current replication factor 1\n")
	if !isReference() { // its store of local files cannot
		blobstore(d, "replication", "--update", "-r", "1", "key").ok(t, " - Replication factor is set to 1\n")
	}
	testLargeBlob(t, d, dir)

	for _, args := range [][]string{
		{"cat", "nope"}, {"update", "-f", one, "nope"}, {"set-acl", "-s", "o::r", "nope"},
		{"delete", "nope"}, {"replication", "--read", "nope"},
	} {
		blobstore(d, args...).fails(t, "KeyNotFoundException(msg:nope)")
	}
	if r := blobstore(d, "list", "nope"); !strings.Contains(r.ok(t).out, " - nope NOT FOUND\n") {
		t.Errorf("list of a missing key prints %s", r.out)
	}
	blobstore(c, "delete", "key").ok(t, " - deleted key\n")
	if got := blobs(t, d); got != nil {
		t.Errorf("after delete there are %q", got)
	}
	testBlobInUse(t, d)
}

func oneBlob(t *testing.T, all []blob) blob {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("list shows %v", all)
	}
	return all[0]
}

// testLargeBlob sends more than a frame and some chunks there and back.
func testLargeBlob(t *testing.T, d *driver, dir string) {
	t.Helper()
	content := make([]byte, 3_000_001)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	in, out := filepath.Join(dir, "large"), filepath.Join(dir, "large.back")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	d.run(t, storm+"Blobstore", "create", "-f", in, "large").ok(t)
	d.run(t, storm+"Blobstore", "cat", "-f", out, "large").ok(t)
	back, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back, content) {
		t.Errorf("a blob of %d bytes comes back as another one of %d", len(content), len(back))
	}
	d.run(t, storm+"Blobstore", "delete", "large").ok(t, " - deleted large\n")
}

// testBlobInUse tries to delete the jar of a live topology.
func testBlobInUse(t *testing.T, d *driver) {
	t.Helper()
	d.run(t, program+"Submit", "words", "words").ok(t)
	jar := list(t, d, listTopologies)["words"].id + topologyJar
	d.run(t, storm+"Blobstore", "delete", jar).
		failsLike(t, `^Exception in thread "main" (java.lang.RuntimeException: )?(org.apache.storm.generated.)?IllegalStateException`)
	d.run(t, storm+"KillTopology", "-w", "0", "words").ok(t)
	awaitNothing(t, d)
}
