package stream

// Waiting returns how many callers wait for the leader to be done.
func Waiting(l *Log) int {
	l.appender.mu.Lock()
	defer l.appender.mu.Unlock()
	return len(l.appender.queue)
}
