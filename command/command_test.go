package command

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// write makes a file in a folder of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestErrors: one clear line, nothing on stdout, 2 for usage and 1 for failure.
func TestErrors(t *testing.T) {
	t.Setenv("STORM_CONF_DIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	const (
		commands   = "there are activate, admin, bench, blobstore, classpath, cluster, completion, cordon, deactivate, demo, drain, flux, get-errors, jar, jvm, kill, list, local, localconfvalue, monitor, nimbus, rebalance, recovery, remoteconfvalue, ring, server_classpath, set_log_level, submit, supervisor, supervisors, topologies, uncordon, upload-credentials, version"
		topologies = "there are broken, clash, ticking, wordcount"
		scenarios  = "there are acked, acked2, unacked, any, tcp, tcp-acked, latency, latency-tcp"
		shells     = "bash, fish, powershell, zsh"
		wordcount  = "local wordcount --input - "
	)
	wrong := write(t, "storm.yaml", "topology.workers: some\n")
	cases := []struct {
		args string
		code int
		want string
	}{
		{"nope", 2, `there is no command "nope"; ` + commands},
		{"nope --help", 2, `there is no command "nope"; ` + commands},
		{"help nope", 2, `there is no command "nope"; ` + commands},
		{"help version nope", 2, `version has no command "nope"`},
		{"help local nope", 2, `there is no topology "nope"; ` + topologies},
		{"--nope", 2, "unknown flag: --nope; see stormring --help"},
		{"-c a=b", 2, "unknown shorthand flag: 'c' in -c; see stormring --help"},

		{"local --workers 2", 2, "--workers is for a topology; which? stormring topologies lists them"},
		{"submit", 2, "which topology? stormring topologies lists them"},
		{"local nope", 2, `there is no topology "nope"; ` + topologies},
		{"local nope --help", 2, `there is no topology "nope"; ` + topologies},
		{"local --nope", 2, "unknown flag: --nope; see stormring local --help"},
		{"local broken", 1, "first; second"},
		{"local clash", 1, `topology "clash": its Setup declares flag "workers", which every topology has already; give it another name`},
		{wordcount + "--nope", 2, "unknown flag: --nope; see stormring local wordcount --help"},
		{wordcount + "--workers 0", 2, "--workers is 0; it must be at least 1"},
		{"local --workers -1 wordcount", 2, "--workers is -1; it must be at least 1"},
		{wordcount + "--workers x", 2, `invalid argument "x" for "--workers" flag: strconv.ParseInt: parsing "x": invalid syntax; see stormring local wordcount --help`},
		{wordcount + "--run-for -1s", 2, "--run-for is -1s; it must not be negative"},
		{wordcount + "--run-for 3", 2, `invalid argument "3" for "--run-for" flag: time: missing unit in duration "3"; see stormring local wordcount --help`},
		{wordcount + "--format xml", 2, `--format is "xml"; it must be table, tsv or json`},
		{wordcount + "--top -1", 2, "--top is -1; it must not be negative (0 prints all words)"},
		{wordcount + "--spouts 0", 2, "--spouts is 0; it must be at least 1"},
		{wordcount + "--splitters 0", 2, "--splitters is 0; it must be at least 1"},
		{wordcount + "--counters -3", 2, "--counters is -3; it must be at least 1"},
		{wordcount + "--input -", 2, "wordcount: standard input (-) is given twice; it can be read once"},
		{wordcount + "-c", 2, "flag needs an argument: 'c' in -c; see stormring local wordcount --help"},
		{wordcount + "-c foo", 2, "-c foo: write it as key=value"},
		{wordcount + "-c =foo", 2, "-c =foo: write it as key=value"},
		{wordcount + "-c topology.workers=x", 2, `-c: topology.workers wants a whole number, not the string "x"`},
		{"local wordcount --input /no/such/file", 1, `wordcount: cannot read input "/no/such/file": no such file or directory`},
		{"local wordcount /no/such/*", 1, `wordcount: input "/no/such/*" does not exist, and as a pattern it matches no file`},
		{wordcount + "--config /no/such.yaml", 1, "reading the configuration: open /no/such.yaml: no such file or directory"},
		{wordcount + "--config " + wrong, 1, wrong + `: topology.workers wants a whole number, not the string "some"`},
		{wordcount + "--metrics-addr nope", 1, `metrics endpoint nope: monitor: listening on "nope" for Prometheus: listen tcp: address nope: missing port in address`},

		{"topologies x", 2, `topologies takes no arguments, but got "x"`},
		{"version x", 2, `version takes no arguments, but got "x"`},
		{"completion", 2, "for which shell? there are " + shells},
		{"completion tcsh", 2, `there is no completion for shell "tcsh"; there is for ` + shells},
		{"completion bash x", 2, `completion takes one argument, but got "x" too`},

		{"bench nope", 2, `there is no scenario "nope"; ` + scenarios},
		{"bench acked nope", 2, `there is no scenario "nope"; ` + scenarios},
		{"bench --compare storm", 2, `--compare is "storm"; only raw can be compared with`},
		{"bench --time 0", 2, "--time is 0s; it must be positive"},
		{"bench --warm-up -1s", 2, "--warm-up is -1s; it must not be negative"},
		{"bench --runs 0", 2, "--runs is 0; it must be at least 1"},
		{"bench --rate 0", 2, "--rate is 0; it must be from 1 to 1000000000"},
		{"bench --rate 1000000001", 2, "--rate is 1000000001; it must be from 1 to 1000000000"},
		{"bench -c foo", 2, "-c foo: write it as key=value"},
		{"bench -c topology.workers=0", 2, "-c: topology.workers wants a whole number of at least 1, not 0"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			got := cli(t.Context(), samples(), "", strings.Fields(c.args)...)
			if want := (shown{c.code, "", "stormring: " + c.want + "\n"}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestNoTopologies(t *testing.T) {
	want := shown{2, "", "stormring: there is no topology \"x\"; this program has none\n"}
	if got := cli(t.Context(), storm.Program{}, "", "local", "x"); got != want {
		t.Errorf("got %+v", got)
	}
	if got := cli(t.Context(), storm.Program{}, "", "topologies", "--json"); got != (shown{0, "[]\n", ""}) {
		t.Errorf("got %+v", got)
	}
}

func TestTopologies(t *testing.T) {
	want := `broken     Cannot be built
clash      Wants a flag that is taken
ticking    Never ends
wordcount  Count the words of files, directories, pipes or standard input, exactly
`
	if got := cli(t.Context(), samples(), "", "topologies"); got != (shown{0, want, ""}) {
		t.Errorf("got %+v", got)
	}
	got := cli(t.Context(), samples(), "", "topologies", "--json")
	var list []map[string]string
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		t.Fatal(err)
	}
	if got.code != 0 || got.stderr != "" || len(list) != 4 || !maps.Equal(list[2], map[string]string{"name": "ticking", "summary": "Never ends"}) {
		t.Errorf("got %+v", got)
	}
}

func TestVersion(t *testing.T) {
	line := regexp.MustCompile(`^stormring \S+ \(Storm 2\.8 interface, ` + regexp.QuoteMeta(runtime.Version()) + `, \w+/\w+\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		if got := cli(t.Context(), samples(), "", arg); got.code != 0 || got.stderr != "" || !line.MatchString(got.stdout) {
			t.Errorf("%s: got %+v", arg, got)
		}
	}
	got := cli(t.Context(), samples(), "", "version", "--json")
	var v map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil {
		t.Fatal(err)
	}
	if v["version"] == "" || v["storm"] != "2.8" || v["go"] != runtime.Version() || v["platform"] != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("got %v", v)
	}
}

func TestHelp(t *testing.T) {
	help := cli(t.Context(), samples(), "", "--help")
	for _, args := range [][]string{nil, {"help"}, {"-h"}} {
		if got := cli(t.Context(), samples(), "", args...); got != help {
			t.Errorf("%q: got %+v\nwant %+v", args, got, help)
		}
	}
	cases := map[string][]string{
		"--help":                 {"  stormring COMMAND\n", "\nCommands:\n", "  local               Run a whole cluster in this process", "  kill                Remove topologies from a cluster\n", "      --version   print the version\n"},
		"local --help":           {"  stormring local [TOPOLOGY] [flags]\n", "\nTopologies:\n", "  ticking    Never ends\n", "\nFlags of every topology:\n", "      --workers N "},
		"help local wordcount":   {"\nFlags of wordcount:\n", "      --input PATH ", "      --top N         print only the N most frequent words; 0 is all (default 20)\n", "(default table)", "\nFlags of every topology:\n", "  -q, --quiet ", "  -c, --set KEY=VALUE "},
		"local wordcount --help": {"  stormring local wordcount [flags]\n"},
		"bench --help":           {"  latency-tcp  one bolt in another worker at 1,000 tuples/s\n", "      --compare raw ", "(default 3s)"},
		"help completion":        {"source <(stormring completion bash)"},
	}
	for args, want := range cases {
		got := cli(t.Context(), samples(), "", strings.Fields(args)...)
		if got.code != 0 || got.stderr != "" {
			t.Errorf("%s: code %d, stderr %q", args, got.code, got.stderr)
		}
		for _, w := range want {
			if !strings.Contains(got.stdout, w) {
				t.Errorf("%s: no %q in\n%s", args, w, got.stdout)
			}
		}
		for line := range strings.Lines(got.stdout) {
			if strings.Contains(line, "--") && len(line) > helpWidth+1 {
				t.Errorf("%s: too wide: %s", args, line)
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	const noFiles = ":4"
	cases := []struct {
		args []string
		want []string
	}{
		{[]string{"local", ""}, []string{"broken\tCannot be built", "clash\tWants a flag that is taken", "ticking\tNever ends", "wordcount\tCount the words of files, directories, pipes or standard input, exactly", noFiles}},
		{[]string{"local", "wordcount", "--format", ""}, []string{"json", "table", "tsv", noFiles}},
		{[]string{"local", "wordcount", "--workers", ""}, []string{noFiles}},
		{[]string{"local", "wordcount", "--config", ""}, []string{"yaml", "yml", ":8"}},
		{[]string{"local", "wordcount", ""}, []string{":0"}},
		{[]string{"completion", ""}, []string{"bash", "fish", "powershell", "zsh", noFiles}},
		{[]string{"completion", "bash", ""}, []string{noFiles}},
		{[]string{"help", "admin", ""}, []string{"print_assignment	Print where a topology's executors run", "print_super	Print supervisors as JSON", "print_topo	Print a topology's components and streams as JSON", noFiles}},
		{[]string{"help", "nope", ""}, []string{noFiles}},
		{[]string{"bench", "--compare", ""}, []string{"raw", noFiles}},
		{[]string{"version", ""}, []string{noFiles}},
	}
	for _, c := range cases {
		got := cli(t.Context(), samples(), "", append([]string{"__complete"}, c.args...)...)
		if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); !slices.Equal(lines, c.want) {
			t.Errorf("%q: got %q\nwant %q", c.args, lines, c.want)
		}
	}
	if got := cli(t.Context(), samples(), "", "__complete", "bench", ""); !strings.HasPrefix(got.stdout, "multilang\tMeasure components in other languages\nrecovery\tMeasure how state comes back over links of given rates\nstate\tMeasure what checkpoints of state cost\nstorm\tMeasure stock Apache Storm and Stormring side by side\nacked\tone bolt, typed values, acked\n") {
		t.Errorf("got %+v", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := cli(t.Context(), samples(), "", "completion", shell)
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "stormring") {
			t.Errorf("%s: %d, %q, %d bytes", shell, got.code, got.stderr, len(got.stdout))
		}
	}
}

// TestName: a program of a topology author speaks of itself by its own name.
func TestName(t *testing.T) {
	var stderr strings.Builder
	if code := Run(t.Context(), samples(), []string{"submit"}, nil, &stderr, &stderr); code != 2 {
		t.Error(code)
	}
	name := filepath.Base(os.Args[0])
	if want := name + ": which topology? " + name + " topologies lists them\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
}

// full is a disk with no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk: what cannot be printed is a failure, said once.
func TestFullDisk(t *testing.T) {
	for _, args := range []string{
		"", "help local", "--version", "version", "version --json", "topologies", "topologies --json", "completion bash",
		"local -q wordcount --input -", "local -q ticking --run-for 1ms",
		"bench -q acked --time 5ms --warm-up 0 --runs 1", "bench -q acked --time 5ms --warm-up 0 --runs 1 --json",
	} {
		var stderr strings.Builder
		code := run(t.Context(), "stormring", samples(), strings.Fields(args), strings.NewReader("a"), full{}, &stderr)
		if got := stderr.String(); code != 1 || strings.Count(got, "\n") != 1 || strings.Count(got, "no space left") != 1 {
			t.Errorf("%s: code %d, %q", args, code, got)
		}
	}
}
