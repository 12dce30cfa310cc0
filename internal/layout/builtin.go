package layout

// Classes of Storm that are here too, under the same names: descriptions name
// them, workers make them.
const (
	// ShellSpoutClass and ShellBoltClass are programs in any language; their
	// arguments are the command's words.
	ShellSpoutClass = "org.apache.storm.flux.wrappers.spouts.FluxShellSpout"
	ShellBoltClass  = "org.apache.storm.flux.wrappers.bolts.FluxShellBolt"
	// LogInfoBoltClass logs its input.
	LogInfoBoltClass = "org.apache.storm.flux.wrappers.bolts.LogInfoBolt"
	// TestWordSpoutClass and TestWordCounterClass are for a first try.
	TestWordSpoutClass   = "org.apache.storm.testing.TestWordSpout"
	TestWordCounterClass = "org.apache.storm.testing.TestWordCounter"
)

// Keys of a component's configuration by which a description carries what
// Thrift has no place for.
const (
	// ArgsKey is the arguments of a component of Go, a list of any values, in
	// place of those of its class.
	ArgsKey = "stormring.component.args"
	// EnvKey is the environment of a shell component, a map of names to texts.
	EnvKey = "stormring.component.env"
)

// Builtins are the classes that are here under Storm's names.
func Builtins() []string {
	return []string{ShellSpoutClass, ShellBoltClass, LogInfoBoltClass, TestWordSpoutClass, TestWordCounterClass}
}
