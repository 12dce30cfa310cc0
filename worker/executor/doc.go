// Package executor runs the tasks of one executor: the loop in which spouts
// emit, bolts execute and ackers count.
//
// There are three kinds, Spout, Bolt and Acker, each one goroutine in its Run
// method around an inbox. What a task emits is routed by output.go into one
// outbox for each destination executor; a full outbox, or an idle moment,
// sends it down its Lane, which is the inbox of an executor of this worker or
// a connection to another one. A full destination holds the sender up, and so
// back to the spout. Only the lanes to spouts, from ackers and bolts, never wait: what
// is in them is bounded by the trees that the spout has pending, and waiting there
// would close a circle.
//
// The rules of tracking are Storm's: see Guaranteeing Message Processing in
// its documentation. Tuples do not carry an ack value as they do there, since
// a tuple is never changed after it was emitted; the executor keeps it for
// them, see offspring.go.
package executor
