package flux

type mistake struct {
	name, text, want string
	with             func(o *Options, f files)
}

func cases() []mistake {
	return []mistake{
		{name: "empty", text: "", want: `
t.yaml: is empty; a topology needs at least name and spouts`},
		{name: "only comments", text: "# a\n---\n# b\n", want: `
t.yaml: is empty; a topology needs at least name and spouts`},
		{name: "two documents", text: spout + "---\nname: u\n", want: `
t.yaml:5:1: a second document begins; a topology is one document, so take the --- away or use includes`},
		{name: "a list", text: "- name: t\n", want: `
t.yaml:1:1: is a list; a topology is a map with name, config, components, includes, spouts, bolts, streams, topologySource, workerHooks`},
		{name: "text", text: "hello\n", want: `
t.yaml:1:1: is "hello"; a topology is a map with name, config, components, includes, spouts, bolts, streams, topologySource, workerHooks`},
		{name: "tab", text: "name: t\nspouts:\n\t- id: a\n", want: `
t.yaml:3:1: is indented by a tab; YAML wants blanks`},
		{name: "open bracket", text: "name: t\nspouts: [a\nbolts:\n", want: `
t.yaml:3:1: is no YAML: ',' or ']' must be specified`},
		{name: "open quote", text: "name: 't\n", want: `
t.yaml:1:7: is no YAML: could not find end character of single-quoted text`},
		{name: "bad indentation", text: "name: t\n  config: {}\n", want: `
t.yaml:1:7: is no YAML: mapping value is not allowed in this context`},
		{name: "no UTF-8", text: "name: t\n# \xff\n", want: `
t.yaml:2:3: byte 0xff is not UTF-8; save the file as UTF-8`},
		{name: "control", text: "name: t\x01\n", want: `
t.yaml:1:8: holds the control character 0x01; write it as an escape in double quotes`},
		{name: "UTF-16", text: "\xff\xfen\x00", want: `
t.yaml:1:1: is UTF-16; save it as UTF-8`},
		{name: "BOM and CRLF", text: "\ufeffname: t\r\nspouts:\r\n- {id: s, command: [a]}\r\nstream: []\r\n", want: `
t.yaml:4:1: stream: is no key of a topology; did you mean streams?`},
		{name: "old Mac", text: "name: t\rspouts:\r- {id: s, command: [a]}\rbolts: 3\r", want: `
t.yaml:4:8: bolts: is 3; it must be a list of bolts`},
		{name: "twice", text: spout + "name: u\n", want: `
t.yaml:4:1: name: stands here a second time; the first is in line 1`},
		{name: "no name", text: "spouts:\n- {id: s, command: [a]}\n", want: `
t.yaml: name: is missing; a topology needs a name`},
		{name: "bad name", text: "name: a/b\nspouts:\n- {id: s, command: [a]}\n", want: `
t.yaml:1:7: name: is "a/b"; the name of a topology is not empty and has none of / . : \`},
		{name: "no spout", text: "name: t\nbolts:\n- {id: s, command: [a]}\n", want: `
t.yaml: spouts: is missing; a topology needs at least one spout`},
		{name: "unknown keys", text: spout + "streems: []\nbolts:\n- {id: b, comand: [a], paralelism: 2, xyzzy: 1}\nx-anchors: {a: 1}\n", want: `
t.yaml:4:1: streems: is no key of a topology; did you mean streams?
t.yaml:6:3: bolts[0]: has neither className nor command; what is it to run?
t.yaml:6:11: bolts[0].comand: is no key of a bolt; did you mean command?
t.yaml:6:24: bolts[0].paralelism: is no key of a bolt; did you mean parallelism?
t.yaml:6:39: bolts[0].xyzzy: is no key of a bolt; there are id, parallelism, numTasks, onHeapMemoryLoad, offHeapMemoryLoad, cpuLoad, config, command, outputs, env, className, constructorArgs, properties, configMethods, factory, factoryArgs`},
		{name: "types", text: `name: [t]
config: [a]
spouts:
- id: s
  command: python3 a.py
  parallelism: two
  numTasks: 0
  cpuLoad: -1
  onHeapMemoryLoad: a
- id: {a: 1}
  command: []
- 7
bolts:
  b: {id: b}
streams: {from: s}
`, want: `
t.yaml:1:7: name: is a list; it must be text
t.yaml:2:9: config: is a list; it must be a map of configuration keys to values
t.yaml:5:12: spouts[0].command: is text; a command is a list of its words, such as [python3, a.py]
t.yaml:6:16: spouts[0].parallelism: is "two"; it must be a whole number from 1 to 2147483647
t.yaml:7:13: spouts[0].numTasks: is 0; it must be a whole number from 1 to 2147483647
t.yaml:8:12: spouts[0].cpuLoad: is -1; it must be a number from 0 on
t.yaml:9:21: spouts[0].onHeapMemoryLoad: is "a"; it must be a number from 0 on
t.yaml:10:7: spouts[1].id: is a map; it must be text
t.yaml:12:3: spouts[2]: is 7; a spout is a map with id, parallelism, numTasks, onHeapMemoryLoad, offHeapMemoryLoad, cpuLoad, config, command, outputs, env, className, constructorArgs, properties, configMethods, factory, factoryArgs
t.yaml:14:3: bolts: is a map; it must be a list of bolts
t.yaml:15:10: streams: is a map; it must be a list of streams`},
		{name: "parallelism", text: "name: t\nspouts:\n- {id: s, command: [a], parallelism: 0}\n- {id: s2, command: [a], parallelism: 1.5}\n- {id: s3, command: [a], parallelism: 3000000000}\n", want: `
t.yaml:3:38: spouts[0].parallelism: is 0; it must be a whole number from 1 to 2147483647
t.yaml:4:39: spouts[1].parallelism: is 1.5; it must be a whole number from 1 to 2147483647
t.yaml:5:39: spouts[2].parallelism: is 3000000000; it must be a whole number from 1 to 2147483647`},
		{name: "configuration", text: spout + "config:\n  topology.workers: many\n  topology.debug: yes\n  topology.max.spout.pending: -1\n  my.key: .inf\n", want: `
t.yaml:5:21: config: topology.workers wants a whole number, not the string "many"
t.yaml:7:31: config: topology.max.spout.pending wants a whole number of at least 1, not -1
t.yaml:8:11: config.my.key: is .inf, which JSON cannot carry`},
		{name: "component configuration", text: "name: t\nspouts:\n- id: s\n  command: [a]\n  config: {topology.workers: 2, topology.tick.tuple.freq.secs: x}\n", want: `
t.yaml:5:64: spouts[0].config: topology.tick.tuple.freq.secs wants a whole number, not the string "x"`},
		{name: "ids", text: spout + "bolts:\n- {id: b, command: [a]}\n- {id: b, command: [a]}\n- {id: s, command: [a]}\n- {id: __b, command: [a]}\n- {command: [a]}\n", want: `
t.yaml:6:8: bolts[1].id: is "b", which is the id of another one in line 5
t.yaml:7:8: bolts[2].id: is "s", which is the id of a spout in line 3
t.yaml:8:8: bolts[3].id: is "__b"; ids that begin with __ are the system's
t.yaml:9:3: bolts[4].id: is missing; every component needs one`},
		{name: "unicode", text: "name: größe\nspouts:\n- {id: \"wörter 日本\", command: [a]}\nstreams:\n- {from: \"wörter 日本\", to: żółw, grouping: {type: SHUFFLE}}\n", want: `
t.yaml:5:27: streams[0].to: is "żółw", but there is no such component; there are wörter 日本
t.yaml:5:43: streams[0].grouping.streamId: is "default", but "wörter 日本" has no output`},
		{name: "nothing to run", text: "name: t\nspouts:\n- {id: s}\n- {id: u, className: lines, command: [a]}\n- {id: v, className: lines, outputs: [a], env: {A: b}}\n", want: `
t.yaml:3:3: spouts[0]: has neither className nor command; what is it to run?
t.yaml:4:22: spouts[1].className: stands beside command; a component has only one of them
t.yaml:5:38: spouts[2].outputs: is only for a component with command; a class says it by its constructorArgs and configMethods
t.yaml:5:48: spouts[2].env: is only for a component with command; a class says it by its constructorArgs and configMethods`},
		{name: "commands", text: "name: t\nspouts:\n- {id: a, command: [\"\"]}\n- {id: b, command: [a, [b]]}\n- {id: c, command: [\"a\\0\"]}\n- {id: d, command: [a], env: [b]}\n- {id: e, command: [a], env: {\"A=\": 1, B: [c]}}\n- {id: f, command: [a], constructorArgs: [b]}\n", want: `
t.yaml:3:20: spouts[0].command: names no program
t.yaml:4:24: spouts[1].command[1]: is a list; it must be text
t.yaml:5:21: spouts[2].command[0]: holds a null byte, which no command line can
t.yaml:6:30: spouts[3].env: is a list; it must be a map of names to values
t.yaml:7:31: spouts[4].env.A=: is no name and value of an environment variable
t.yaml:7:43: spouts[4].env.B: is a list; it must be text
t.yaml:8:3: spouts[5].constructorArgs: is for a className, not for a command; use outputs, env and config`},
		{name: "outputs", text: "name: t\nspouts:\n- {id: a, command: [a], outputs: [w, w]}\n- {id: b, command: [a], outputs: w}\n- {id: c, command: [a], outputs: {default: [w], __x: [w], y: {field: [a]}, z: {fields: [a], direct: maybe}}}\n- {id: d, command: [a], outputs: [\"\"]}\n", want: `
t.yaml:3:38: spouts[0].outputs[1]: is "w", which the stream has already
t.yaml:4:34: spouts[1].outputs: is "w"; it must be a list of fields, or a map of streams to fields
t.yaml:5:54: spouts[2].outputs.__x: stream "__x": the id of a stream is not empty and does not begin with __
t.yaml:5:63: spouts[2].outputs.y.field: is no key of a stream; did you mean fields?
t.yaml:5:101: spouts[2].outputs.z.direct: is "maybe"; it must be true or false
t.yaml:6:35: spouts[3].outputs[0]: is empty`},
		{name: "Java", text: "name: t\nspouts:\n- {id: s, className: com.example.Spout}\nbolts:\n- {id: b, className: org.apache.storm.flux.wrappers.bolts.FluxShelBolt}\n- {id: c, className: pik}\n- {id: d, className: org.apache.storm.testing.TestWordSpout}\n- {id: e, className: Other, factory: make}\n", want: `
t.yaml:3:22: spouts[0].className: com.example.Spout is a class of Java, and components of Java are not run yet; run a command in its place, or write it in Go
t.yaml:5:22: bolts[0].className: org.apache.storm.flux.wrappers.bolts.FluxShelBolt is not known; did you mean org.apache.storm.flux.wrappers.bolts.FluxShellBolt?
t.yaml:6:22: bolts[1].className: pik is not known; did you mean pick?
t.yaml:7:22: bolts[2].className: org.apache.storm.testing.TestWordSpout is a spout, but stands among the bolts
t.yaml:8:22: bolts[3].className: "Other" is neither a class that is built in nor a component of this program, which has lines, pick
t.yaml:8:38: bolts[3].factory: is a method of Java that makes the object, and Java is not run yet`},
		{name: "Java throughout", text: spout + "topologySource: {className: a}\nworkerHooks:\n- {id: a}\n", want: `
t.yaml:4:17: topologySource: is a class of Java that makes the topology, and Java is not run yet; describe it by spouts, bolts and streams
t.yaml:6:1: workerHooks: are classes of Java, which is not run yet; take them away, or write the topology in Go`},
		{name: "no hooks", text: spout + "workerHooks: []\ntopologySource:\n", want: `
`},
		{name: "shell", text: `name: t
spouts:
- id: a
  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
- id: b
  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
  constructorArgs: [python3, a.py]
- id: c
  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
  constructorArgs: [[python3], [w], 1]
- id: d
  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
  constructorArgs: [[python3], w]
  configMethods:
  - {name: setNamedStreem, args: [a, [b]]}
  - {name: addComponentConfig, args: [rabbitmq.configfile, etc/rabbit.yml, hello]}
  - {name: changeChildCWD, args: [false]}
  - {name: setEnv, args: [a]}
  - {args: []}
  - {name: setDefaultStream}
  properties:
  - {name: outputs, value: 1}
  - {value: 1}
  - {name: env, value: 1, ref: a}
`, want: `
t.yaml:3:3: spouts[0].constructorArgs: has 0 arguments; it takes the command and the fields, as in [["python3", "split.py"], ["word"]]
t.yaml:7:21: spouts[1].constructorArgs[0]: is text; a command is a list of its words, such as [python3]
t.yaml:7:30: spouts[1].constructorArgs[1]: is "a.py"; it must be a list of fields
t.yaml:10:21: spouts[2].constructorArgs: has 3 arguments; it takes the command and the fields, as in [["python3", "split.py"], ["word"]]
t.yaml:13:32: spouts[3].constructorArgs[1]: is "w"; it must be a list of fields
t.yaml:15:12: spouts[3].configMethods[0].name: is "setNamedStreem", which a shell component does not have; did you mean setNamedStream?
t.yaml:16:12: spouts[3].configMethods[1].args: has 3 arguments; addComponentConfig takes 2
t.yaml:18:27: spouts[3].configMethods[3].args[0]: is "a"; it must be a map of names to values
t.yaml:19:5: spouts[3].configMethods[4]: has no name; which method is to be called?
t.yaml:20:12: spouts[3].configMethods[5].args: has 0 arguments; setDefaultStream takes 1
t.yaml:22:5: spouts[3].properties[0].name: is "outputs"; a shell component has the properties defaultStream and env
t.yaml:23:5: spouts[3].properties[1]: has no name
t.yaml:24:32: spouts[3].properties[2].ref: stands beside value; a property has only one of them
t.yaml:24:32: spouts[3].properties[2].args[0].ref: there is no component "a"; there are none`},
		{name: "native", text: "name: t\nspouts:\n- {id: a, className: backtype.storm.testing.TestWordSpout, constructorArgs: [x]}\nbolts:\n- {id: b, className: org.apache.storm.testing.TestWordCounter, constructorArgs: [1], configMethods: [{name: a}], properties: [{name: a, value: 1}]}\n", want: `
t.yaml:3:78: spouts[0].constructorArgs[0]: is "x"; it must be true or false
t.yaml:5:82: bolts[0].constructorArgs: has 1 arguments, but org.apache.storm.testing.TestWordCounter takes none
t.yaml:5:109: bolts[0].configMethods[0]: calls a, but this component has no methods; use config or constructorArgs
t.yaml:5:127: bolts[0].properties[0]: is set, but org.apache.storm.testing.TestWordCounter has no properties`},
		{name: "registered", text: "name: t\nspouts:\n- {id: a, className: pick}\nbolts:\n- {id: b, className: pick}\n- {id: c, className: pick, constructorArgs: [{ref: x}, {reflist: [y, z]}, {reflist: w}]}\n", want: `
t.yaml:3:22: spouts[0].className: pick: no spout is registered under the name "pick"; registered: "lines", "pick"
t.yaml:5:22: bolts[0].className: pick: nothing to pick
t.yaml:6:52: bolts[1].constructorArgs[0].ref: there is no component "x"; there are none
t.yaml:6:67: bolts[1].constructorArgs[1].reflist[0]: there is no component "y"; there are none
t.yaml:6:70: bolts[1].constructorArgs[1].reflist[1]: there is no component "z"; there are none
t.yaml:6:85: bolts[1].constructorArgs[2].reflist: is "w"; it must be a list of ids`},
		{name: "references", text: "name: t\ncomponents:\n- {id: a, className: com.example.A}\n- {id: b, value: {ref: c}}\n- {id: c, value: {ref: b}}\n- {id: d}\n- {id: e, value: 1, className: x}\nspouts:\n- {id: s, className: lines, constructorArgs: [{ref: a}, {ref: b}, {ref: d}, {ref: e}, {ref: eh}]}\n", want: `
t.yaml:3:22: components[0].className: com.example.A is a class of Java, which is not run yet; give plain values as arguments, or a component with value
t.yaml:5:24: components[2].value.ref: component "b" refers to itself
t.yaml:6:3: components[3]: has neither className nor value
t.yaml:7:32: components[4].className: stands beside value; a component has only one of them
t.yaml:9:93: spouts[0].constructorArgs[4].ref: there is no component "eh"; did you mean e?`},
		{name: "streams", text: spout + `bolts:
- {id: b, command: [a]}
- {id: c, command: [a]}
- {id: log, className: org.apache.storm.flux.wrappers.bolts.LogInfoBolt}
streams:
- {from: s, grouping: {type: SHUFFLE}}
- {from: sp, to: b, grouping: {type: SHUFFLE}}
- {from: b, to: s, grouping: {type: SHUFFLE}}
- {from: s, to: b}
- {from: s, to: b, grouping: {}}
- {from: s, to: b, grouping: {type: SHUFLE}}
- {from: s, to: b, grouping: {type: FIELDS}}
- {from: s, to: b, grouping: {type: FIELDS, args: []}}
- {from: s, to: b, grouping: {type: FIELDS, args: w}}
- {from: s, to: b, grouping: {type: FIELDS, args: [w, m]}}
- {from: s, to: b, grouping: {type: SHUFFLE, streamId: x}}
- {from: log, to: b, grouping: {type: SHUFFLE}}
- {from: s, to: b, grouping: SHUFFLE}
- {from: s, to: b, grouping: {type: DIRECT}}
- {from: s, to: c, grouping: {type: CUSTOM}}
- {from: s, to: c, grouping: {type: CUSTOM, customClass: {className: com.example.G}}}
- {from: s, to: c, grouping: {type: CUSTOM, customClass: {className: org.apache.storm.grouping.PartialKeyGrouping}}}
- {from: s, to: c, grouping: {type: CUSTOM, customClass: {className: org.apache.storm.grouping.PartialKeyGrouping, constructorArgs: [q]}}}
`, want: `
t.yaml:9:3: streams[0].to: is missing; a stream goes from a component to another
t.yaml:10:10: streams[1].from: is "sp", but there is no such component; did you mean s?
t.yaml:11:17: streams[2].to: is "s", a spout, which takes no input
t.yaml:11:30: streams[2].grouping.streamId: is "default", but "b" has no output
t.yaml:12:3: streams[3].grouping: is missing; say how tuples are dealt out, such as {type: SHUFFLE}
t.yaml:13:30: streams[4].grouping.type: is missing; there are ALL, CUSTOM, DIRECT, FIELDS, GLOBAL, LOCAL_OR_SHUFFLE, NONE, SHUFFLE
t.yaml:14:37: streams[5].grouping.type: is "SHUFLE"; did you mean SHUFFLE?
t.yaml:15:30: streams[6].grouping.args: is missing; by which fields are tuples to be grouped?
t.yaml:16:51: streams[7].grouping.args: is empty; by which fields are tuples to be grouped?
t.yaml:17:51: streams[8].grouping.args: is "w"; it must be a list of fields
t.yaml:18:55: streams[9].grouping.args[1]: is "m", but the stream of "s" has the fields w, n
t.yaml:19:56: streams[10].grouping.streamId: is "x", but "s" has only default
t.yaml:20:32: streams[11].grouping.streamId: is "default", but "log" has no output
t.yaml:21:30: streams[12].grouping: is "SHUFFLE"; a grouping is a map with type, streamId, args, customClass
t.yaml:22:3: streams[13].grouping: is DIRECT, but stream "default" of "s" is not direct
t.yaml:23:30: streams[14].grouping.customClass: is missing; which class is the custom grouping?
t.yaml:24:70: streams[15].grouping.customClass.className: com.example.G is not built in, and Java is not run yet; there is org.apache.storm.grouping.PartialKeyGrouping, whose arguments are fields
t.yaml:25:58: streams[16].grouping.customClass.constructorArgs: is missing; by which fields are tuples to be grouped?
t.yaml:26:134: streams[17].grouping.customClass.constructorArgs[0]: is "q", but the stream of "s" has the fields w, n`},
		{name: "subscribed twice", text: spout + "bolts:\n- {id: b, command: [a]}\nstreams:\n- {from: s, to: b, grouping: {type: SHUFFLE}}\n- {from: s, to: b, grouping: {type: SHUFFLE}}\n- {from: s, to: b, grouping: {type: ALL}}\n", want: `
t.yaml:9:3: streams[2]: is a second subscription of "b" to stream "default" of "s", by another grouping; the first is in line 7`},
		{name: "warnings", text: spout + "bolts:\n- {id: b, command: [a]}\n- {id: c, command: [a]}\nstreams:\n- {from: s, to: b, grouping: {type: SHUFFLE, args: [w], customClass: {className: a}}}\n- {from: s, to: b, grouping: {type: shuffle}}\n", want: `
warning: t.yaml:6:8: bolts[1]: bolt "c" gets no stream, so it will have nothing to do
warning: t.yaml:8:52: streams[0].grouping.args: has no effect: only FIELDS takes fields
warning: t.yaml:8:70: streams[0].grouping.customClass: has no effect: the grouping's type is SHUFFLE, not CUSTOM
warning: t.yaml:9:3: streams[1]: stands here a second time, which changes nothing; the first is in line 8`},
		{name: "direct and not", text: "name: t\nspouts:\n- {id: s, className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout, constructorArgs: [[a], [w]]}\nbolts:\n- {id: b, command: [a]}\n- {id: c, command: [a]}\nstreams:\n- {from: s, to: b, grouping: {type: DIRECT}}\n- {from: s, to: c, grouping: {type: SHUFFLE}}\n", want: `
t.yaml:9:3: streams[1].grouping: must be DIRECT, as the other subscriptions to stream "default" of "s"`},
		{name: "anchors", text: spout + "bolts:\n- &b {id: b, command: [a]}\n- {<<: *b, id: c}\n- {<<: *x, id: d}\n", want: `
t.yaml:7:8: bolts[2].<<: *x is used, but there is no &x before it`},
		{name: "anchor in itself", text: "name: &a [*a]\n", want: `
t.yaml:1:11: name[0]: *a is used, but there is no &a before it`},
		{name: "merging text", text: "name: t\nspouts:\n- {<<: a, id: b}\n", want: `
t.yaml:3:3: spouts[0]: has neither className nor command; what is it to run?
t.yaml:3:8: spouts[0].<<: is text; << takes a map or a list of maps`},
		{name: "tags", text: "name: !!str 7\nspouts: !!java.util.ArrayList\n- {id: s, command: [a]}\n", want: `
t.yaml:2:9: spouts: the tag !!java.util.ArrayList is not understood; take it away`},
		{name: "wrong tag", text: "name: !!int t\n", want: `
t.yaml:1:7: name: has the tag !!int, but is text`},
		{name: "include cycle", text: spout + "includes: [{file: a/u.yaml}]\n", want: `
a/v.yaml:3:9: includes[0].file: includes itself: t.yaml includes a/u.yaml includes a/v.yaml includes t.yaml`, with: func(_ *Options, f files) {
			f["a/u.yaml"] = "includes:\n- file: v.yaml\n"
			f["a/v.yaml"] = "\nincludes:\n- file: t.yaml\n"
		}},
		{name: "include nothing", text: spout + "includes:\n- {}\n- {file: gone.yaml}\n- {file: a, resource: true}\n- {file: b, resourse: true}\n- c\n", want: `
t.yaml:5:3: includes[0]: has no file; which file is to be included?
t.yaml:6:10: includes[1].file: cannot be read: open gone.yaml: file does not exist
t.yaml:7:10: includes[2].file: "a" is wanted as a resource of a jar, and there is none; say resource: false for a file
t.yaml:8:10: includes[3].file: cannot be read: open b: file does not exist
t.yaml:8:13: includes[3].resourse: is no key of an include; did you mean resource?
t.yaml:9:3: includes[4]: is "c"; an include is a map with file, resource, override`},
		{name: "include a broken file", text: "name: t\nincludes: [{file: u.yaml}]\n", want: `
u.yaml:2:9: is no YAML: found an invalid key for this map`, with: func(_ *Options, f files) { f["u.yaml"] = "spouts:\n- {id: }: \n" }},
		{name: "include a wrong file", text: spout + "includes: [{file: u.yaml}]\n", want: `
u.yaml:2:38: bolts[0].parallelism: is "x"; it must be a whole number from 1 to 2147483647
u.yaml:4:52: streams[0].grouping.args[0]: is "q", but the stream of "s" has the fields w, n`, with: func(_ *Options, f files) {
			f["u.yaml"] = "bolts:\n- {id: b, command: [a], parallelism: x}\nstreams:\n- {from: s, to: b, grouping: {type: FIELDS, args: [q]}}\n"
		}},
		{name: "include keeps", text: spout + "config: {a: 1}\nincludes: [{file: u.yaml}]\n", want: `
warning: u.yaml:1:7: name: is left out: the including file has the name already; say override: true in includes if this one is to win
warning: u.yaml:2:10: config.a: is left out: the including file has this key already; say override: true in includes if this one is to win
warning: u.yaml:4:8: spouts[0]: is left out: the including file has one with this id already; say override: true in includes if this one is to win`, with: func(_ *Options, f files) {
			f["u.yaml"] = "name: u\nconfig: {a: 2, b: 3}\nspouts:\n- {id: s, command: [b]}\n"
		}},
		{name: "gone", text: "", want: `
gone.yaml: cannot be read: open gone.yaml: file does not exist`, with: func(o *Options, _ files) { o.File = "gone.yaml" }},
		{name: "substitution", text: "name: ${a}\nspouts:\n- {id: s, command: [\"${ENV-B}\", \"${c}\", \"${d[1]}\"], comand: ${ENV-X}, x: ${ee}}\n# ${none}\n", want: `
t.yaml:3:62: is no YAML: ',' or '}' must be specified`, with: func(o *Options, _ files) {
			o.Properties = map[string]string{"a": "t", "c": "x", "d": `["p", 'q' ]`, "ef": ""}
			o.Env = func(n string) (string, bool) { return "long value", n == "B" }
		}},
		{name: "no filter", text: spout + "config: {a: \"${a}\", b: \"${ENV-B}\", c: \"${a[0]}\", d: \"$a {b} ${}\"}\n", want: `
warning: t.yaml:4:14: ${a} is left as it is: name a file with its value by --filter
warning: t.yaml:4:25: ${ENV-B} is left as it is: use --env-filter to have the environment's values
warning: t.yaml:4:40: ${a[0]} is left as it is: there is no property a`},
		{name: "list properties", text: spout + "config: {a: \"${a[0]}\", b: \"${b[2]}\"}\n", want: `
t.yaml:4:14: property a is "x", but ${a[0]} wants a list such as ["a", "b"]
t.yaml:4:28: property b has 2 elements; ${b[2]} wants one more; they count from 0`, with: func(o *Options, _ files) {
			o.Properties = map[string]string{"a": "x", "b": "[x, y]"}
		}},
		{name: "lines in a property", text: "name: t\n${s}\nbolts: ${b} 7\nbolt: 1\n", want: `
t.yaml:3:13: bolts: is 7; it must be a list of bolts
t.yaml:4:1: bolt: is no key of a topology; did you mean bolts?`, with: func(o *Options, _ files) {
			o.Properties = map[string]string{"s": "spouts:\n- id: s\n  command: [a]\n", "b": "\n "}
		}},
	}
}
