package localizer

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type entry struct{ name, text string }

func zipOf(tb testing.TB, entries ...entry) string {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if target, ok := strings.CutPrefix(e.text, "->"); ok {
			h.SetMode(fs.ModeSymlink | 0o777)
			e.text = target
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func tarOf(tb testing.TB, headers ...tar.Header) string {
	tb.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		h.Size = 0
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		h.Mode = 0o4755
		err := w.WriteHeader(&h)
		if err == nil && h.Size > 0 {
			_, err = w.Write([]byte(h.Name))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func gzipOf(tb testing.TB, text string) string {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func unpack(tb testing.TB, data string) (dir string, files []file, err error) {
	tb.Helper()
	top := tb.TempDir()
	archive := filepath.Join(top, "archive")
	if err := os.WriteFile(archive, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
	dir = filepath.Join(top, "in", "dir")
	files, err = unpackTo(tb.Context(), archive, "key", dir, "p")
	if entries, rerr := os.ReadDir(filepath.Dir(dir)); rerr != nil || len(entries) != 1 {
		tb.Fatalf("something beside the folder: %v %v", entries, rerr)
	}
	if entries, rerr := os.ReadDir(top); rerr != nil || len(entries) != 2 {
		tb.Fatalf("something beside the folder: %v %v", entries, rerr)
	}
	return dir, files, err
}

func reg(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
func sym(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func TestUnpackSound(t *testing.T) {
	all := []tar.Header{
		{Typeflag: tar.TypeDir, Name: "./"}, reg("a/b/ü"), reg("a/b/ü"), sym("l", "a/b"), sym("a/up", "../a/b/ü"),
		{Typeflag: tar.TypeLink, Name: "hard", Linkname: "a/b/ü"}, {Typeflag: tar.TypeDir, Name: "a/"}, sym("dangling", "later"),
	}
	for name, data := range map[string]string{"tar": tarOf(t, all...), "tgz": gzipOf(t, tarOf(t, all...))} {
		t.Run(name, func(t *testing.T) {
			dir, files, err := unpack(t, data)
			if err != nil || len(files) != 7 {
				t.Fatal(files, err)
			}
			for _, p := range []string{"a/b/ü", "l/ü", "a/up", "hard"} {
				if got, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(got) != "a/b/ü" {
					t.Fatal(p, string(got), err)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, "a/b/ü")); err != nil || info.Mode() != 0o755 {
				t.Fatal(info.Mode(), err)
			}
		})
	}
	dir, _, err := unpack(t, zipOf(t, entry{"a/", ""}, entry{"a/f", "1"}, entry{"a/f", "2"}, entry{"s", "->a/f"}))
	if got, rerr := os.ReadFile(filepath.Join(dir, "s")); err != nil || rerr != nil || string(got) != "2" {
		t.Fatal(string(got), err, rerr)
	}
}

func TestUnpackEvil(t *testing.T) {
	for name, data := range map[string]string{
		"up":             tarOf(t, reg("../x")),
		"up later":       tarOf(t, reg("a/../../x")),
		"absolute":       tarOf(t, reg("/tmp/x")),
		"zip up":         zipOf(t, entry{"../x", "1"}),
		"zip absolute":   zipOf(t, entry{"/x", "1"}),
		"zip link":       zipOf(t, entry{"l", "->../../x"}),
		"link up":        tarOf(t, sym("l", "../x")),
		"link absolute":  tarOf(t, sym("l", "/etc/passwd")),
		"links together": tarOf(t, sym("l", "."), sym("m", "l/l/..")),
		"link loop":      tarOf(t, sym("l", "m"), sym("m", "l")),
		"through a link": tarOf(t, sym("l", "."), reg("l/x")),
		"hard link":      tarOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "../archive"}),
		"device":         tarOf(t, tar.Header{Typeflag: tar.TypeChar, Name: "c"}),
		"pipe":           tarOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "p"}),
		"file as folder": tarOf(t, reg("a"), reg("a/b")),
		"cut tgz":        gzipOf(t, tarOf(t, reg("a")))[:40],
		"cut tar":        tarOf(t, reg("a"))[:512],
		"nothing":        "",
		"text":           "hello",
	} {
		t.Run(name, func(t *testing.T) {
			if _, files, err := unpack(t, data); err == nil {
				t.Fatal("unpacked", files)
			}
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte(tarOf(f, reg("a"), sym("l", "a"))))
	f.Add([]byte(gzipOf(f, tarOf(f, reg("a/b")))))
	f.Add([]byte(zipOf(f, entry{"a/b", "1"}, entry{"s", "->a"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, files, err := unpack(t, string(data))
		if err != nil {
			return
		}
		for _, x := range files {
			p, ok := strings.CutPrefix(x.Path, "p/")
			if _, err := os.Lstat(filepath.Join(dir, p)); !ok || err != nil {
				t.Fatal(x, err)
			}
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"blobs":[{"key":"k","role":"map","path":"blobs/k.1","link":"k"}]}`))
	f.Add([]byte(`{"format":1,"blobs":[{"path":"../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(data)
		if err != nil {
			return
		}
		for _, b := range r.Blobs {
			if !filepath.IsLocal(b.Path) {
				t.Fatal(b.Path)
			}
		}
	})
}

func TestParseMap(t *testing.T) {
	got, err := ParseMap(map[string]any{
		"b": map[string]any{"localname": "n", "uncompress": true, "workerRestart": true, "other": 1.0}, "a": nil,
	})
	if err != nil || len(got) != 2 || got[0] != (Entry{Key: "a", Name: "a"}) || got[1] != (Entry{"b", "n", true, true}) {
		t.Fatal(got, err)
	}
	for _, bad := range []any{"x", map[string]any{"localname": 1}, map[string]any{"uncompress": "true"}} {
		if _, err := ParseMap(map[string]any{"k": bad}); err == nil || !strings.Contains(err.Error(), `"k"`) {
			t.Fatal(bad, err)
		}
	}
}
