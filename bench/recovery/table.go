package recovery

import "fmt"

// Render makes the files that people read, by name.
func Render(r Report) (map[string][]byte, error) {
	out := ""
	for _, x := range r.Results {
		out += fmt.Sprintf("%-9s %4d own %d kill %d %-5s cold=%-5v -> %-5s %.3f s place %.3f fetch %.3f rebuild %.3f resume %.3f predicted %.3f floor %.3f bytes %.1f wasted %.1f replans %d streams %d %.3f | %s\n", x.Setup, x.MiB, x.Owners, x.Killed, x.Mode, x.Cold, x.Taken, x.Seconds, x.Place, x.Fetch, x.Rebuild, x.Resume, x.Predicted, x.Floor, float64(x.Bytes)/(1<<20), float64(x.Wasted)/(1<<20), x.Replans, x.Streams, x.All, x.Reason)
	}
	for _, l := range r.Loopback {
		out += fmt.Sprintf("%+v\n", l)
	}
	return map[string][]byte{"README.md": []byte(out)}, nil
}
