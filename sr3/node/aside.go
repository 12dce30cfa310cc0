package node

// aside runs f, which is work that nobody waits for, where the system can do that
// with less right to the processors than all else on the host: the workers whose
// state it is need them. What is overdue has somewhat more right.
func aside(overdue bool, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		yieldToOthers(overdue)
		f()
	}()
	<-done
}
