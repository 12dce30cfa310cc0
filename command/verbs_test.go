package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
)

func TestReadingVerbs(t *testing.T) {
	alone(t)
	for _, g := range []golden{
		{args: "list", stdout: `Topology_name        Status     Num_tasks  Num_workers  Uptime_secs  Topology_Id          Owner               
----------------------------------------------------------------------------------------
wordcount            ACTIVE     28         3            3725         wordcount-1-1700000000 alice               
idle                 INACTIVE   4          0            5            idle-2-1700000100    null                
`},
		{args: "get-errors wordcount", stdout: `{"Comp-Errors":{"split":"boom <b>"},"Topology Name":"wordcount"}` + "\n"},
		{
			args: "get-errors nope", code: 1, stdout: `{"Failure":"No topologies running with name nope"}` + "\n",
			stderr: "stormring: get-errors nope: nope is not alive\n",
		},
		{args: "monitor wordcount", stdout: `Available components for wordcount :
------------------
lines
split
------------------
Please use -m to specify one component
`},
		{args: "monitor wordcount --json", stdout: `{"components":["lines","split"],"topology":"wordcount"}` + "\n"},
		{args: "set_log_level wordcount", stderr: "no log levels are set\n"},
		{args: "blobstore list", stdout: "cfg 3 [u:alice:rwa, o::r--]\ndata 1 []\n", stderr: "1 more blobs are not for you to see\n"},
		{
			args: "blobstore list data nope cfg", code: 1, stdout: "data 1 []\ncfg 3 [u:alice:rwa, o::r--]\n",
			stderr: "stormring: blobstore list nope: no nope\nstormring: 1 of 3 blobs were not listed\n",
		},
		{args: "blobstore cat cfg", stdout: "content of cfg"},
		{args: "blobstore cat nope", code: 1, stderr: "stormring: blobstore cat nope: no nope\n"},
		{args: "blobstore replication cfg", stdout: "Current replication factor 2\n"},
		{args: "blobstore replication --read cfg --json", stdout: "{\n  \"key\": \"cfg\",\n  \"replication\": 2\n}\n"},
		{args: "cluster", stdout: `nimbuses: 2, supervisors: 2, slots used: 3 of 8, topologies: 2

NIMBUS   LEADS  UP    VERSION
n1:6627  yes    1m0s  2.8.8
n2:6627  no     30s   2.8.8

SUPERVISOR  HOST  SLOTS USED  CPU %       MEMORY MIB   STANDING               UP      VERSION
sup-a       a     2 of 4      150 of 400  512 of 4096  open                   1m40s   2.8.8
sup-b       b     1 of 4      0 of 0      0 of 0       cordoned, blacklisted  2h0m0s  2.8.8

TOPOLOGY   STATUS    WORKERS  EXECUTORS  TASKS  UP      PLACEMENT
wordcount  ACTIVE    3        28         28     1h2m5s  
idle       INACTIVE  0        2          4      5s      no free slot
`},
		{args: "admin print_assignment wordcount", stdout: "HOST  PORT  COMPONENT  TASKS  UP\na     6700  lines      [1,2]  1m0s\nb     6701  split      [3,4]  1m1s\n"},
		{args: "admin print_super nope", code: 1, stderr: "stormring: there is no supervisor \"nope\"; stormring supervisors lists them\n"},
		{args: "localconfvalue nimbus.thrift.port", stdout: "nimbus.thrift.port: 6627\n"},
		{args: "localconfvalue nimbus.seeds -c nimbus.seeds=[\"a\",\"b\"]", stdout: "nimbus.seeds: a b\n"},
		{args: "localconfvalue supervisor.slots.ports", stdout: "supervisor.slots.ports: 6700 6701 6702 6703\n"},
		{args: "localconfvalue nobody.knows", stdout: "nobody.knows: null\n"},
		{args: "localconfvalue nimbus.thrift.port --json -c nimbus.thrift.port=7", stdout: "{\n  \"key\": \"nimbus.thrift.port\",\n  \"value\": 7\n}\n"},
		{args: "remoteconfvalue nimbus.thrift.port", stdout: "nimbus.thrift.port: 7000\n"},
		{args: "remoteconfvalue a.map", stdout: "a.map: {\"x\":[1,true]}\n"},
		{args: "classpath --storm-lib /", stdout: "/*\n"},
		{args: "classpath --storm-lib / --json", stdout: "[\n  \"/*\"\n]\n"},
		{args: "rebalance wordcount --dry-run -n 2", stdout: `plan of wordcount {"WaitSecs":null,"Workers":2,"Executors":null,"Resources":null,"Conf":"","Principal":""}` + "\n"},
	} {
		f := newFake()
		f.conf = `{"nimbus.thrift.port": 7000, "a.map": {"x": [1, true]}}`
		g.check(t, f, "")
	}
}

func TestNoTopologiesRunning(t *testing.T) {
	alone(t)
	golden{args: "list", stdout: "No topologies running.\n"}.check(t, &fake{}, "")
	golden{args: "list --json", stdout: "[]\n"}.check(t, &fake{}, "")
	golden{args: "supervisors", stdout: "SUPERVISOR  HOST  SLOTS USED  CPU %  MEMORY MIB  STANDING  UP  VERSION\n"}.check(t, &fake{}, "")
	golden{args: "cluster", stdout: "nimbuses: 0, supervisors: 0, slots used: 0 of 0, topologies: 0\n"}.check(t, &fake{}, "")
	golden{args: "cluster --json", stdout: "{\n  \"supervisors\": [],\n  \"topologies\": [],\n  \"nimbuses\": []\n}\n"}.check(t, &fake{}, "")
}

// TestReadingJSON: what a script gets can be read, and holds what it should.
func TestReadingJSON(t *testing.T) {
	alone(t)
	for args, want := range map[string]string{
		"list --json":                             "1.name idle",
		"get-errors wordcount --json":             "errors.split.1.error earlier",
		"blobstore list cfg --json":               "0.acl.0 u:alice:rwa",
		"set_log_level wordcount --json":          "0.logger ROOT",
		"supervisors --json":                      "1.standing cordoned",
		"cluster --json":                          "supervisors.0.standing open",
		"admin print_super sup-b":                 "0.id sup-b",
		"admin print_topo wordcount":              "components.split.inputs.0 default of lines, fields line grouping",
		"admin print_topo wordcount --json":       "components.lines.code go:wordcount",
		"admin print_assignment wordcount --json": "0.component split",
	} {
		f := newFake()
		f.levels = cluster.LogConfig{"ROOT": {Target: "DEBUG", TimeoutSecs: 30}, "a": {Target: "WARN"}}
		got := f.run(t.Context(), "", strings.Fields(args)...)
		var value any
		if err := json.Unmarshal([]byte(got.stdout), &value); err != nil || got.code != 0 || got.stderr != "" {
			t.Errorf("%s: %v in %+v", args, err, got)
			continue
		}
		path, text, _ := strings.Cut(want, " ")
		if found := at(value, path); found != text {
			t.Errorf("%s: %s is %v, want %q in\n%s", args, path, found, text, got.stdout)
		}
	}
}

// at is what a path of keys and indices leads to.
func at(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch x := value.(type) {
		case map[string]any:
			value = x[step]
		case []any:
			value = x[step[0]-'0']
		}
	}
	return value
}

func TestLogLevelsShown(t *testing.T) {
	alone(t)
	f := newFake()
	f.levels = cluster.LogConfig{"ROOT": {Target: "DEBUG", TimeoutSecs: 90}, "a": {Target: "WARN"}}
	golden{args: "set-log-level wordcount", stdout: "LOGGER  LEVEL  FOR\nROOT    DEBUG  1m30s\na       WARN   ever\n"}.check(t, f, "")
}

func TestChangingVerbs(t *testing.T) {
	alone(t)
	file := write(t, "creds", "# secrets\nuser = alice\npass\\ word: a\\\n  b\n")
	const rebalanced = `{"WaitSecs":%s,"Workers":%s,"Executors":%s,"Resources":%s,"Conf":%q,"Principal":""}`
	for _, g := range []golden{
		{args: "kill wordcount", stderr: "killed topology wordcount\n", changes: "kill wordcount default"},
		{args: "kill -w 0 -i wordcount idle", stderr: "killed topology wordcount\nkilled topology idle\n", changes: "kill wordcount 0; kill idle 0"},
		{args: "kill nope", code: 1, stderr: "stormring: kill nope: nope is not alive\n"},
		{
			args: "kill nope wordcount neither", code: 1, changes: "kill wordcount default",
			stderr: "stormring: kill nope: nope is not alive\nkilled topology wordcount\nstormring: kill neither: neither is not alive\nstormring: 2 of 3 topologies were not killed\n",
		},
		{args: "activate wordcount", stderr: "activated topology wordcount\n", changes: "activate wordcount"},
		{args: "deactivate wordcount", stderr: "deactivated topology wordcount\n", changes: "deactivate wordcount"},
		{args: "rebalance wordcount", stderr: "topology wordcount is rebalancing\n", changes: "rebalance wordcount " + fmt.Sprintf(rebalanced, "null", "null", "null", "null", "")},
		{
			args:    `rebalance wordcount -w 5 -n 2 -e split=4 -e a=b=1 -r {"split":{"cpu.pcore.percent":50}} -t {"topology.debug":true,"mine":1} -c mine=2 -c nimbus.thrift.port=7000`,
			stderr:  "topology wordcount is rebalancing\n",
			changes: "rebalance wordcount " + fmt.Sprintf(rebalanced, "5", "2", `{"a=b":1,"split":4}`, `{"split":{"cpu.pcore.percent":50}}`, `{"mine":2,"topology.debug":true}`),
		},
		{
			args: "set_log_level -l ROOT=debug:30 -l a.b=WARN -r c wordcount", stderr: "changed 3 log levels of topology wordcount\n",
			changes: "log wordcount-1-1700000000 map[ROOT:{2 DEBUG 30 0 } a.b:{2 WARN 0 0 } c:{3  0 0 }]",
		},
		{args: "upload-credentials wordcount k v k2 v2 -u bob", stderr: "uploaded 2 credentials of topology wordcount\n", changes: "credentials wordcount map[k:v k2:v2] bob"},
		{args: "upload-credentials -f " + file + " wordcount user carol", stderr: "uploaded 2 credentials of topology wordcount\n", changes: "credentials wordcount map[pass word:ab user:carol] "},
		{args: "upload-credentials -f - wordcount", stderr: "uploaded 1 credentials of topology wordcount\n", changes: "credentials wordcount map[from:stdin] "},
		{args: "upload-credentials wordcount", stderr: "there are no credentials to upload\n"},
		{args: "upload-credentials -e wordcount", code: 1, stderr: "stormring: no credentials were uploaded for wordcount: there are none in the arguments or the file\n"},
		{args: "blobstore create k", stderr: "created blob k\n", changes: `create k "from=stdin"  0`},
		{args: "blobstore create k --file " + file + " -a u:bob:rw,r -r 2", stderr: "created blob k\n", changes: `create k "# secrets\nuser = alice\npass\\ word: a\\\n  b\n" u:bob:rw-,o::r-- 2`},
		{args: "blobstore update k", stderr: "updated blob k\n", changes: `update k "from=stdin"`},
		{args: "blobstore update k -f /no/such", code: 1, stderr: "stormring: blobstore update k: open /no/such: no such file or directory\n"},
		{args: "blobstore delete k l", stderr: "deleted blob k\ndeleted blob l\n", changes: "delete k; delete l"},
		{args: "blobstore set-acl k -s o::rwa", stderr: "the ACL of blob k is o::rwa\n", changes: "meta k o::rwa 0"},
		{args: "blobstore replication k --update -r 3", stdout: "Replication factor is set to 3\n", changes: "replicate k 3"},
		{args: "cordon sup-a", stderr: "supervisor sup-a is cordoned\n", changes: "standing sup-a cordoned"},
		{args: "drain a b", stderr: "supervisor a is drained\nsupervisor b is drained\n", changes: "standing a drained; standing b drained"},
		{args: "uncordon sup-a", stderr: "supervisor sup-a is open\n", changes: "standing sup-a open"},
	} {
		f := newFake()
		g.check(t, f, "from=stdin")
		if f.dialled != nil && f.closed != 1 {
			t.Errorf("%s: closed %d times", g.args, f.closed)
		}
	}
}

// TestVerbUsage: wrong usage is told before nimbus is asked.
func TestVerbUsage(t *testing.T) {
	alone(t)
	const which = "which topology? the command list shows those that run; see stormring "
	cases := map[string]string{
		"list x":                                  `list takes no arguments, but got "x"`,
		"list -c foo":                             "-c foo: write it as key=value",
		"list --nope":                             "unknown flag: --nope; see stormring list --help",
		"kill":                                    which + "kill --help",
		"kill -w x a":                             `invalid argument "x" for "-w, --wait-time-secs" flag: strconv.ParseInt: parsing "x": invalid syntax; see stormring kill --help`,
		"kill -w -1 a":                            "--wait-time-secs is -1; it must not be negative",
		"activate":                                which + "activate --help",
		"activate a b":                            `activate got "b" too many; see stormring activate --help`,
		"rebalance a -n 0":                        "--num-workers is 0; it must be at least 1",
		"rebalance a -e x":                        "-e x: write it as COMPONENT=N",
		"rebalance a -e x=0":                      "-e x=0: the number of executors must be a whole number of at least 1",
		"rebalance a -r {":                        `-r: write it as {"component": {"resource": number}}: unexpected end of JSON input`,
		`rebalance a -r {"x":{"y":-1}}`:           "-r: component x needs -1 of y; it must not be negative",
		"rebalance a -t [1]":                      "-t: the configuration is JSON, but not an object",
		`rebalance a -t {"topology.workers":0}`:   "the topology's configuration: topology.workers wants a whole number of at least 1, not 0",
		"monitor a -i 0":                          "--interval is 0; it must be from 1 to 3600",
		"monitor a -w acked":                      `--watch is "acked"; it must be emitted or transferred`,
		"set_log_level a -l x":                    "-l x: write it as LOGGER=LEVEL or LOGGER=LEVEL:SECS",
		"set_log_level a -l x=LOUD":               `-l x=LOUD: there is no level "LOUD"; there are ALL, TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF`,
		"set_log_level a -l x=INFO:soon":          `-l x=INFO:soon: "soon" is no number of seconds`,
		"set_log_level a -l x=INFO -r x":          "logger x is given by -l and by -r; give it once",
		"upload-credentials a k":                  `credential "k" has no value; write them as KEY VALUE`,
		"blobstore":                               "which command? stormring blobstore --help lists them",
		"blobstore nope":                          `there is no command "nope"; there are cat, create, delete, list, replication, set-acl, update`,
		"blobstore cat":                           "which blob? the command blobstore list shows them; see stormring blobstore cat --help",
		"blobstore create k -r 0":                 "--replication-factor is 0; it must be at least 1",
		"blobstore create k -a x:y:z:q":           `--acl: "x:y:z:q": write it as u:NAME:rwa or o::r`,
		"blobstore create k -a u::r":              `--acl: "u::r": which user? write it as u:NAME:rwa`,
		"blobstore create k -a o:x:r":             `--acl: "o:x:r": others have no name: write o::rwa, or u:NAME:rwa for a user`,
		"blobstore create k -a g:x:r":             `--acl: "g:x:r": there is no kind "g"; there are u for a user and o for others`,
		"blobstore create k -a rx":                `--acl: "rx": there is no right 'x'; there are r, w and a`,
		"blobstore create k -a r,o::w":            `--acl: "o::w": the same user is given twice`,
		"blobstore set-acl k":                     "who may do what? say it by -s, such as -s u:alice:rwa,o::r",
		"blobstore replication k --update":        "on how many nimbuses? say it by -r",
		"blobstore replication k -r 2":            "-r is for --update",
		"blobstore replication k --read --update": "--read and --update exclude each other",
		"cordon":         "which supervisor? give its id or its host; the command supervisors lists them; see stormring cordon --help",
		"localconfvalue": "which configuration key?; see stormring localconfvalue --help",
		"admin nope":     `there is no command "nope"; there are print_assignment, print_super, print_topo`,
		"jar":            "which jar or program?; see stormring jar --help",
	}
	for _, args := range slices.Sorted(maps.Keys(cases)) {
		f := newFake()
		golden{args: args, code: 2, stderr: "stormring: " + cases[args] + "\n"}.check(t, f, "")
		if f.dialled != nil {
			t.Errorf("%s: nimbus was asked", args)
		}
	}
}

// TestElsewhere: commands of Storm that are not here say what to use.
func TestElsewhere(t *testing.T) {
	alone(t)
	for args, want := range map[string]string{
		"dev-zookeeper":                   "there is none to run: stormring local needs no ZooKeeper, and a cluster takes any ZooKeeper",
		"heartbeats list /x":              "workers tell their supervisors that they live, so nothing of it is in ZooKeeper; stormring admin print_assignment TOPOLOGY shows the executors that are heard of",
		"drpc-client -f x y":              "the DRPC client comes later",
		"admin creds x":                   "nimbus gives credentials to no client; stormring upload-credentials replaces them",
		"admin remove_corrupt_topologies": "nimbus does not stop at a broken topology: stormring cluster shows what is wrong with it, and kill removes it",
	} {
		words := strings.Fields(args)
		name := words[0]
		if name == "admin" {
			name = words[1]
		}
		golden{args: args, code: 1, stderr: "stormring: " + name + ": " + want + "\n"}.check(t, newFake(), "")
	}
}

// TestNimbusFails: one line, nothing on stdout, and code 1, whichever verb.
func TestNimbusFails(t *testing.T) {
	alone(t)
	for _, args := range []string{
		"list", "kill a", "kill a b", "activate a", "deactivate a", "rebalance a", "get-errors a", "monitor a", "set_log_level a", "upload-credentials a k v",
		"blobstore list", "blobstore cat a", "blobstore delete a", "cluster", "supervisors", "cordon a", "remoteconfvalue a", "admin print_super", "admin print_topo a",
	} {
		f := newFake()
		f.fail = map[string]error{"dial": fmt.Errorf("%w: everywhere", client.ErrUnreachable)}
		golden{args: args, code: 1, stderr: "stormring: no nimbus can be reached: everywhere\n"}.check(t, f, "")
	}
	f := newFake()
	f.fail = map[string]error{"kill": fmt.Errorf("%w: gone", client.ErrUnreachable)}
	golden{args: "kill wordcount idle", code: 1, stderr: "stormring: kill wordcount: no nimbus can be reached: gone\n"}.check(t, f, "")
}

// TestKillWaits: until this very topology is gone, not one of the same name.
func TestKillWaits(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		looks := 0
		f.each = func(f *fake) {
			if looks++; looks == 3 {
				f.topologies = []cluster.TopologySummary{{ID: "wordcount-3-1700000500", Name: "wordcount"}}
			}
		}
		golden{args: "kill --wait wordcount idle -w 1", stderr: "killed topology wordcount\nkilled topology idle\n", changes: "kill wordcount 1; kill idle 1"}.check(t, f, "")
		if looks != 3 {
			t.Errorf("%d looks", looks)
		}
	})
}

func TestKillWaitInterrupted(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		f := newFake()
		f.each = func(*fake) { interrupt() }
		got := f.run(ctx, "", "kill", "--wait", "wordcount")
		if want := (shown{130, "", "killed topology wordcount\ninterrupted: killed, but not gone yet: wordcount\n"}); got != want {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDrainWaits(t *testing.T) {
	alone(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.each = func(f *fake) { f.summary.Supervisors[0].UsedWorkers-- }
		golden{args: "drain --wait a", stderr: "supervisor a is drained\n", changes: "standing a drained"}.check(t, f, "")
	})
}

func TestMonitor(t *testing.T) {
	alone(t)
	for args, want := range map[string]string{
		"monitor wordcount -m lines": "topology\tcomponent\tparallelism\tstream\ttime-diff ms\temitted\tthroughput (Kt/s)\n" +
			"wordcount\tlines\t1\tdefault\t0\t1100\t0.0\n" +
			"wordcount\tlines\t1\tdefault\t4000\t1000\t0.25\n" +
			"wordcount\tlines\t1\tdefault\t4000\t50\t0.0125\n",
		"monitor wordcount -m lines -w transferred -i 1": "topology\tcomponent\tparallelism\tstream\ttime-diff ms\ttransferred\tthroughput (Kt/s)\n" +
			"wordcount\tlines\t1\tdefault\t0\t200\t0.0\n" +
			"wordcount\tlines\t1\tdefault\t1000\t0\t0.0\n" +
			"wordcount\tlines\t1\tdefault\t1000\t0\t0.0\n",
		"monitor wordcount -m split --json": `{"topology":"wordcount","component":"split","parallelism":1,"stream":"default","time_diff_ms":0,"watch":"emitted","tuples":0,"kilotuples_per_sec":0}` + "\n" +
			`{"topology":"wordcount","component":"split","parallelism":1,"stream":"default","time_diff_ms":4000,"watch":"emitted","tuples":0,"kilotuples_per_sec":0}` + "\n" +
			`{"topology":"wordcount","component":"split","parallelism":1,"stream":"default","time_diff_ms":4000,"watch":"emitted","tuples":0,"kilotuples_per_sec":0}` + "\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			f := newFake()
			looks := 0
			f.each = func(f *fake) {
				emitted := f.info.ExecutorList[1].Stats.Emitted[allTime]
				emitted["default"] += 1000
				switch looks++; looks {
				case 3:
					emitted["default"] = 50 // a worker was started anew
				case 4:
					interrupt()
				}
			}
			if got := f.run(ctx, "", strings.Fields(args)...); got != (shown{130, want, ""}) {
				t.Errorf("%s: got %+v\nwant %s", args, got, want)
			}
		})
	}
}

func TestMonitorNotFound(t *testing.T) {
	alone(t)
	const head = "topology\tcomponent\tparallelism\tstream\ttime-diff ms\temitted\tthroughput (Kt/s)\n"
	golden{args: "monitor wordcount -m nope", code: 1, stdout: head, stderr: "stormring: monitor wordcount: component: nope not found; there are lines, split\n"}.check(t, newFake(), "")
	golden{args: "monitor wordcount -m lines -s nope", code: 1, stdout: head, stderr: "stormring: monitor wordcount: stream: nope not found; there are default, side\n"}.check(t, newFake(), "")
}

func TestDecimal(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", 12: "12.0", 0.25: "0.25", 1e7: "10000000.0"} {
		if got := decimal(x); got != want {
			t.Errorf("decimal(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestCatToFile: all of it, or the file as it was.
func TestCatToFile(t *testing.T) {
	alone(t)
	path := filepath.Join(t.TempDir(), "out")
	golden{args: "blobstore cat cfg --FILE " + path}.check(t, newFake(), "")
	f := newFake()
	f.fail = map[string]error{"fetch": errors.New("broke off")}
	golden{args: "blobstore cat data -f " + path, code: 1, stderr: "stormring: blobstore cat data: broke off\n"}.check(t, f, "")
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "content of cfg" {
		t.Errorf("%q, %v", text, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	golden{args: "blobstore cat cfg -f /dev/null"}.check(t, newFake(), "")
}

func TestCompleteTopologies(t *testing.T) {
	alone(t)
	complete := func(f *fake, args ...string) string {
		return f.run(t.Context(), "", append([]string{"__complete"}, args...)...).stdout
	}
	if got, want := complete(newFake(), "kill", ""), "wordcount\tACTIVE\nidle\tINACTIVE\n:4\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := complete(newFake(), "kill", "wordcount", ""), "idle\tINACTIVE\n:4\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := complete(newFake(), "activate", "wordcount", ""), ":4\n"; got != want {
		t.Errorf("got %q", got)
	}
	f := newFake()
	f.fail = map[string]error{"dial": client.ErrUnreachable}
	if got, want := complete(f, "kill", ""), ":4\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got := complete(newFake(), "localconfvalue", ""); !strings.Contains(got, "\nnimbus.thrift.port\t") {
		t.Errorf("got %q", got)
	}
}

// TestConfigReachesDial: --config and -c say where nimbus is.
func TestConfigReachesDial(t *testing.T) {
	alone(t)
	f := newFake()
	file := write(t, "mine.yaml", "nimbus.seeds: [n1]\nnimbus.thrift.port: 7\n")
	f.run(t.Context(), "", "list", "--config", file, "-c", "nimbus.thrift.port=8")
	if got := f.dialled.Strings(conf.NimbusSeeds); !slices.Equal(got, []string{"n1"}) || f.dialled.Int(conf.NimbusThriftPort) != 8 {
		t.Errorf("got %v", got)
	}
}

// TestACLRoundTrip: what is shown can be given back.
func TestACLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{0,5}`), 1, 4, rapid.ID[string]).Draw(t, "names")
		var acl []blobstore.AccessControl
		for _, name := range names {
			e := blobstore.AccessControl{Type: blobstore.User, Name: name, Access: blobstore.Access(rapid.IntRange(0, 7).Draw(t, "access"))}
			if name == "" {
				e.Type = blobstore.Other
			}
			acl = append(acl, e)
		}
		got, err := parseACL("-a", showACL(acl))
		if err != nil || !slices.Equal(got, acl) {
			t.Fatalf("%v became %v, %v", acl, got, err)
		}
	})
}
