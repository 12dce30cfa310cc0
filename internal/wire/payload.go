package wire

import (
	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// This file has the payloads of znodes and blobs. All but those of
// EncodeTopology and DecodeTopology are compressed.

// EncodeTopology is t in the binary protocol, not compressed.
func EncodeTopology(t cluster.Topology) ([]byte, error) {
	x, err := TopologyToThrift(t)
	if err != nil {
		return nil, err
	}
	return marshal(x)
}

// DecodeTopology reads what EncodeTopology writes. It refuses what
// TopologyFromThrift does.
func DecodeTopology(data []byte) (cluster.Topology, error) {
	x := gen.NewStormTopology()
	if err := unmarshal(data, x); err != nil {
		return cluster.Topology{}, err
	}
	return TopologyFromThrift(x)
}

// EncodeCode is a stormcode.ser.
func EncodeCode(t cluster.Topology) ([]byte, error) {
	x, err := TopologyToThrift(t)
	if err != nil {
		return nil, err
	}
	return pack(x)
}

// DecodeCode reads a stormcode.ser.
func DecodeCode(data []byte) (cluster.Topology, error) {
	x := gen.NewStormTopology()
	if err := unpack(data, x); err != nil {
		return cluster.Topology{}, err
	}
	return TopologyFromThrift(x)
}

// EncodeBase is the payload of storms/<id>.
func EncodeBase(b cluster.Base) ([]byte, error) {
	x, err := BaseToThrift(b)
	if err != nil {
		return nil, err
	}
	return pack(x)
}

// DecodeBase reads the payload of storms/<id>.
func DecodeBase(data []byte) (cluster.Base, error) {
	x := gen.NewStormBase()
	if err := unpack(data, x); err != nil {
		return cluster.Base{}, err
	}
	return BaseFromThrift(x)
}

// EncodeAssignment is the payload of assignments/<id>.
func EncodeAssignment(r cluster.AssignmentRecord) ([]byte, error) {
	x, err := AssignmentToThrift(r)
	if err != nil {
		return nil, err
	}
	return pack(x)
}

// DecodeAssignment reads the payload of assignments/<id>.
func DecodeAssignment(data []byte) (cluster.AssignmentRecord, error) {
	x := new(assignment.Assignment)
	if err := unpack(data, x); err != nil {
		return cluster.AssignmentRecord{}, err
	}
	return AssignmentFromThrift(x)
}

// EncodeSupervisor is the payload of supervisors/<id>.
func EncodeSupervisor(r cluster.SupervisorRecord) ([]byte, error) {
	return pack(SupervisorRecordToThrift(r))
}

// DecodeSupervisor reads the payload of supervisors/<id>.
func DecodeSupervisor(data []byte) (cluster.SupervisorRecord, error) {
	x := gen.NewSupervisorInfo()
	if err := unpack(data, x); err != nil {
		return cluster.SupervisorRecord{}, err
	}
	return SupervisorRecordFromThrift(x), nil
}

// EncodeNimbus is the payload of nimbuses/<host:port>.
func EncodeNimbus(r cluster.NimbusRecord) ([]byte, error) { return pack(NimbusRecordToThrift(r)) }

// DecodeNimbus reads the payload of nimbuses/<host:port>.
func DecodeNimbus(data []byte) (cluster.NimbusRecord, error) {
	x := gen.NewNimbusSummary()
	if err := unpack(data, x); err != nil {
		return cluster.NimbusRecord{}, err
	}
	return NimbusRecordFromThrift(x), nil
}

// EncodeCredentials is the payload of credentials/<id>.
func EncodeCredentials(c cluster.Credentials) ([]byte, error) { return pack(CredentialsToThrift(c)) }

// DecodeCredentials reads the payload of credentials/<id>.
func DecodeCredentials(data []byte) (cluster.Credentials, error) {
	x := gen.NewCredentials()
	if err := unpack(data, x); err != nil {
		return cluster.Credentials{}, err
	}
	return CredentialsFromThrift(x), nil
}

// EncodeLogConfig is the payload of logconfigs/<id>.
func EncodeLogConfig(c cluster.LogConfig) ([]byte, error) {
	x, err := LogConfigToThrift(c)
	if err != nil {
		return nil, err
	}
	return pack(x)
}

// DecodeLogConfig reads the payload of logconfigs/<id>.
func DecodeLogConfig(data []byte) (cluster.LogConfig, error) {
	x := gen.NewLogConfig()
	if err := unpack(data, x); err != nil {
		return nil, err
	}
	return LogConfigFromThrift(x)
}

// EncodeError is the payload of an error below errors/<id>.
func EncodeError(r cluster.ErrorRecord) ([]byte, error) { return pack(ErrorRecordToThrift(r)) }

// DecodeError reads the payload of an error below errors/<id>.
func DecodeError(data []byte) (cluster.ErrorRecord, error) {
	x := gen.NewErrorInfo()
	if err := unpack(data, x); err != nil {
		return cluster.ErrorRecord{}, err
	}
	return ErrorRecordFromThrift(x), nil
}

// DecodeWorkerBeat reads the payload of workerbeats/<id>/<supervisor>-<port>, which
// only workers of Storm write. Its port is in the path.
func DecodeWorkerBeat(data []byte) (cluster.WorkerReport, error) {
	x := gen.NewClusterWorkerHeartbeat()
	if err := unpack(data, x, thrift.HeartbeatTime); err != nil {
		return cluster.WorkerReport{}, err
	}
	return WorkerBeatFromThrift(x)
}

func pack(x apache.TStruct) ([]byte, error) {
	data, err := marshal(x)
	if err != nil {
		return nil, err
	}
	return compress(data)
}

func unpack(data []byte, x apache.TStruct, wide ...int16) error {
	plain, err := decompress(data)
	if err != nil {
		return err
	}
	return unmarshal(plain, x, wide...)
}
