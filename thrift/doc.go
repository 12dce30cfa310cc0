// Package thrift carries Storm's Thrift services over TCP: frames of a 4-byte
// length and a message in the binary protocol. [Serve] is the server, which
// bears whatever may arrive at an open port; [Dial] is the client's end of a
// connection; [Marshal] and [Unmarshal] are for structs outside of calls.
//
// storm.thrift is the interface, gen/storm what the compiler makes of it
// (scripts/thrift), assignment the part that the compiler cannot do.
//
// A newcomer starts at Serve in server.go, follows a connection through
// serve_conn.go and a request through dispatch.go.
package thrift
